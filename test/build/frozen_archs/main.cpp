// program IN OUT: floats of one image, and of its result. Prints the instruction set.
#include "interface.hpp"

#include <cstdio>

int main(int count, char** words) {
    if (count != 3) return 2;
    static float image[small_c * small_h * small_w], result[small_classes];
    std::FILE* file = std::fopen(words[1], "rb");
    if (file == nullptr || std::fread(image, sizeof(image), 1, file) != 1) return 3;
    std::fclose(file);
    if (const char* refusal = run(image, result)) return std::printf("%s\n", refusal), 1;
    file = std::fopen(words[2], "wb");
    if (file == nullptr || std::fwrite(result, sizeof(result), 1, file) != 1) return 4;
    std::fclose(file);
    std::puts(instruction_set());
}
