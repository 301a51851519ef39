#include <primsel/primsel.hpp>

int main() {}
