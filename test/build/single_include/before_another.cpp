// expect: primsel: the single header is the whole library; include it alone, or the headers of include/ alone
#include <primsel/primsel.hpp>

// Second.
#include <primsel/learn/dataset_file.hpp>
