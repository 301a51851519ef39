from conan import ConanFile


class InstalledConan(ConanFile):
    """Stands for a package of ConanCenter by the headers and the library that the system has, so that no server is asked:
    conan export . --name <package> --version <version>"""

    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        info = self.cpp_info
        if self.name == "boost":
            info = self.cpp_info.components["headers"]
        elif self.name == "hiredis":
            info = self.cpp_info.components["hiredislib"]
            info.set_property("cmake_target_name", "hiredis::hiredis")
        info.includedirs = ["/usr/include/eigen3" if self.name == "eigen" else "/usr/include"]
        info.libdirs = []
        info.system_libs = {"hiredis": ["hiredis"], "yaml-cpp": ["yaml-cpp"]}.get(self.name, [])
