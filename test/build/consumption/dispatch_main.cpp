extern "C" int most_lanes();

int main() { return most_lanes() >= 4 ? 0 : 1; }
