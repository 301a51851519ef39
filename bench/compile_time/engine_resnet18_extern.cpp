// The same where the kernels are compiled in another translation unit.
#define PRIMSEL_EXTERN_KERNELS
#include "engine_resnet18.cpp"
