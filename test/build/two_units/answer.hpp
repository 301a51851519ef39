// The results that a.cpp and b.cpp each compute with primsel and hand to main.cpp.
#pragma once

#include <string>
#include <vector>

struct Answer {
    std::string symbol;  // of a type of primsel's, as this translation unit links it
    std::vector<float> scores;
};

Answer answer_of_a();
Answer answer_of_b();
