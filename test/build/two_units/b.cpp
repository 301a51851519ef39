#include "work.hpp"

Answer answer_of_b() { return work(); }
