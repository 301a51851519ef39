#include "work.hpp"

Answer answer_of_a() { return work(); }
