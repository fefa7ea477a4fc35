"""Conan 2 recipe of RLX, from this tree: conan create packaging/conan (-o "&:lm=False": without language models)"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Rlx(ConanFile):
    name = "rlx"
    license = "Apache-2.0"
    description = "An ML compiler and runtime in C: ONNX and language models on the CPU, CUDA, Vulkan and WebGPU"
    topics = ("machine-learning", "onnx", "llm", "vulkan", "cuda", "webgpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "lm": [True, False], "vulkan": [True, False], "cuda": [True, False],
               "webgpu": [True, False], "command": [True, False]}
    default_options = {"shared": False, "lm": True, "vulkan": True, "cuda": True, "webgpu": True, "command": False}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/rlx/rlx.h"))
        numbers = re.findall(r"^#define RLX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE)
        self.version = ".".join(numbers)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "packaging/rlx.1",
                        "packaging/completions/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")  # it is all C
        self.settings.rm_safe("compiler.libcxx")

    def requirements(self):
        if self.options.lm:
            self.requires("jansson/[>=2.11]")
            self.requires("pcre2/[>=10.30]")
            self.requires("utf8proc/[>=2.1]")
        if self.options.vulkan:
            self.requires("vulkan-headers/[>=1.3.204]", libs=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["RLX_TESTS"] = False
        toolchain.cache_variables["RLX_CLI"] = bool(self.options.command)
        for part in ("lm", "vulkan", "cuda", "webgpu"):
            toolchain.cache_variables[f"RLX_{part.upper()}"] = bool(self.options.get_safe(part))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["rlx"]
        self.cpp_info.set_property("cmake_file_name", "rlx")
        self.cpp_info.set_property("cmake_target_name", "rlx::rlx")
        self.cpp_info.set_property("pkg_config_name", "rlx")
        if not self.options.shared:
            self.cpp_info.defines = ["RLX_STATIC"]
            if self.settings.os in ("Linux", "FreeBSD"):
                self.cpp_info.system_libs = ["m", "pthread", "dl"]
        if self.options.lm:
            self.cpp_info.requires = ["jansson::jansson", "pcre2::pcre2-8", "utf8proc::utf8proc"]
