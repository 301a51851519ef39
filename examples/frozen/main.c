/* Classifies an image, of which it reads the floats from standard input. A program of C: it is linked without the C++ library. */
#include "classifier.h"

#include <stdio.h>

int main(void) {
    static float image[classifier_pixels], scores[classifier_classes];
    const size_t read = fread(image, sizeof(float), classifier_pixels, stdin);
    if (read != classifier_pixels) {
        fprintf(stderr, "frozen: %zu of the %d floats of an image\n", read, classifier_pixels);
        return 1;
    }
    const char* refusal = classify(image, scores);
    if (refusal != NULL) {
        fprintf(stderr, "frozen: %s\n", refusal);
        return 1;
    }
    int best = 0;
    for (int i = 1; i < classifier_classes; ++i) {
        if (scores[i] > scores[best]) best = i;
    }
    printf("class %d, score %g\n", best, scores[best]);
    return 0;
}
