from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import load, rmdir
import os
import re


class PrimselRecipe(ConanFile):
    """Headers and the CMake package. Their requirements come from Conan; with `-o primsel/*:system=True` from the system."""

    name = "primsel"
    package_type = "header-library"
    license = "MIT"
    description = "Picks the fastest primitive for each layer of a convolutional network, and runs it"
    topics = ("cnn", "inference", "simd", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "system": [True, False],
        "with_eigen": [True, False],
        "with_boost_graph": [True, False],
        "with_onnx": [True, False],
        "with_yaml": [True, False],
    }
    default_options = {"system": False, "with_eigen": False, "with_boost_graph": False, "with_onnx": False, "with_yaml": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True

    def set_version(self):
        config = load(self, os.path.join(self.recipe_folder, "include", "primsel", "core", "config.hpp"))
        self.version = re.search(r'#define PRIMSEL_VERSION "([^"]+)"', config).group(1)

    def requirements(self):
        if self.options.system:
            return
        self.requires("xsimd/[>=8.1 <15]")
        self.requires("rapidjson/[>=cci.20220822]")
        if self.options.with_eigen:
            self.requires("eigen/[>=3.4 <4]")
        if self.options.with_boost_graph:
            self.requires("boost/[>=1.71 <2]", options={"header_only": True})
        if self.options.with_onnx:
            self.requires("protozero/[>=1.7 <2]")
        if self.options.with_yaml:
            self.requires("yaml-cpp/[>=0.7 <1]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCHES", "EXAMPLES"):
            toolchain.cache_variables["PRIMSEL_" + part] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        rmdir(self, os.path.join(self.package_folder, "share", "pkgconfig"))  # Conan writes its own

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # find_package(primsel) finds the package's own configuration, with its components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "primsel")]
        self.cpp_info.set_property("pkg_config_name", "primsel")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
