// The program that others are compared with: a library that everybody knows, and one small system of equations.
#include <Eigen/Dense>

int main(int count, char**) {
    Eigen::Matrix3f matrix;
    matrix << 1, 2, 3, 4, 5, 6, 7, 8, static_cast<float>(count);
    const Eigen::Vector3f solution = matrix.colPivHouseholderQr().solve(Eigen::Vector3f(1, 2, 3));
    return solution[0] > 0 ? 0 : 1;
}
