from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout
import os


required_conan_version = ">=2.0"


class PrimselConan(ConanFile):
    name = "primsel"
    description = "Runs and trains convolutional networks on CPUs, with the fastest primitive for each layer"
    license = "MIT"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "https://github.com/OWNER/primsel"
    topics = ("cnn", "deep-learning", "inference", "onnx", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "with_boost_graph": [True, False],
        "with_eigen": [True, False],
        "with_onnx": [True, False],
        "with_openmp": [True, False],
        "with_redis": [True, False],
        "with_yaml": [True, False],
    }
    default_options = {
        "with_boost_graph": False,
        "with_eigen": False,
        "with_onnx": False,
        "with_openmp": False,
        "with_redis": False,
        "with_yaml": False,
    }
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        self.requires("xsimd/14.1.0")
        self.requires("rapidjson/cci.20230929")
        if self.options.with_boost_graph:
            self.requires("boost/1.88.0")
        if self.options.with_eigen:
            self.requires("eigen/3.4.0")
        if self.options.with_onnx:
            self.requires("protozero/1.7.1")
        if self.options.with_openmp and self.settings.compiler != "gcc":
            self.requires("llvm-openmp/18.1.8")
        if self.options.with_redis:
            self.requires("hiredis/1.2.0")
        if self.options.with_yaml:
            self.requires("yaml-cpp/0.8.0")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        # The compiler's intrinsics and GNU attributes are used.
        if self.settings.compiler not in ("gcc", "clang", "apple-clang"):
            raise ConanInvalidConfiguration(f"{self.ref} needs GCC or Clang.")
        if self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(f"{self.ref} supports x86_64 and armv8 only.")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        # Functions that add to find_package(primsel): one program for several instruction sets, frozen networks.
        modules = os.path.join(self.package_folder, "lib", "cmake", "primsel")
        for pattern in ("primselDispatch.cmake", "primselFreeze.cmake", "primselNative.cmake", "dispatch/*"):
            copy(self, pattern, os.path.join(self.source_folder, "cmake"), modules)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "primsel")
        # The name of everything together; primsel::primsel is the library alone, as upstream has it.
        self.cpp_info.set_property("cmake_target_name", "primsel::primsel_all_unofficial")
        self.cpp_info.set_property("pkg_config_name", "primsel_all_unofficial")
        modules = os.path.join("lib", "cmake", "primsel")
        self.cpp_info.builddirs = [modules]
        self.cpp_info.set_property("cmake_build_modules", [
            os.path.join(modules, f"primsel{name}.cmake") for name in ("Dispatch", "Native", "Freeze")
        ])

        def component(name, *requires):
            result = self.cpp_info.components[name]
            result.bindirs = []
            result.libdirs = []
            result.requires = list(requires)
            return result

        library = component("core", "xsimd::xsimd", "rapidjson::rapidjson")
        library.set_property("cmake_target_name", "primsel::primsel")
        library.set_property("pkg_config_name", "primsel")
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = ["m", "pthread"]

        dependencies = {
            "boost_graph": ["boost::headers"],
            "eigen": ["eigen::eigen"],
            "onnx": ["protozero::protozero"],
            "openmp": [] if self.settings.compiler == "gcc" else ["llvm-openmp::llvm-openmp"],
            "redis": ["hiredis::hiredislib"],
            "yaml": ["yaml-cpp::yaml-cpp"],
        }
        for name, requires in dependencies.items():
            if self.options.get_safe(f"with_{name}"):
                feature = component(name, "core", *requires)
                feature.set_property("cmake_target_name", f"primsel::{name}")
                feature.set_property("pkg_config_name", f"primsel_{name}")
                if name == "openmp" and self.settings.compiler == "gcc":
                    feature.cxxflags = ["-fopenmp"]
                    feature.exelinkflags = ["-fopenmp"]
                    feature.sharedlinkflags = ["-fopenmp"]
