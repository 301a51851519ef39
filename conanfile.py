"""The recipe of cmake/conan-center, for this checkout instead of a release: conan create . --build=missing"""
from conan.tools.files import load
import importlib.util
import os
import re

path = os.path.join("cmake", "conan-center", "primsel", "all", "conanfile.py")
spec = importlib.util.spec_from_file_location("conan_center_recipe", os.path.join(os.path.dirname(__file__), path))
recipe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recipe)


class PrimselCheckout(recipe.PrimselConan):
    exports = path
    exports_sources = "LICENSE", "cmake/*", "include/*"

    def set_version(self):
        config = load(self, os.path.join(self.recipe_folder, "include", "primsel", "core", "config.hpp"))
        self.version = re.search(r'#define PRIMSEL_VERSION "([^"]+)"', config).group(1)

    def layout(self):
        pass

    def source(self):
        pass
