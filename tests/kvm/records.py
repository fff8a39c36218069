# SPDX-License-Identifier: BSD-2-Clause
"""The fields of the kernel's records that the BPF programs read on a host of any architecture: the
object is compiled for it, and its BTF lists them."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "house"))
import tap  # noqa: E402

# By Meson's name of a host's architecture: the tracepoints before an entry.
HOSTS = {"x86_64": ["kvm_entry"], "aarch64": ["kvm_entry"], "riscv64": ["kvm_entry"],
         "loongarch64": ["kvm_enter", "kvm_reenter"]}
SOURCE = "src/kvm/exits.bpf.c"


def compiled(host, folder):
    """Returns the path of the object for a host, by Meson's name."""
    path = os.path.join(folder, f"exits.{host}.o")
    subprocess.run(["clang", "-target", "bpf", "-mcpu=v3", "-g", "-O2", "-ffreestanding", "-Wall",
                    "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-DRS_HOST_ONLY",
                    f"-DRS_HOST_{host}", "-Iinclude", "-Isrc", "-c", SOURCE, "-o", path],
                   cwd=tap.TOP, check=True)
    return path


def members(path):
    """Returns {a tracepoint's record: its fields that are read, "type name" each} of an object."""
    output = subprocess.run(["bpftool", "btf", "dump", "file", path, "format", "c"], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}).stdout
    return {name: [re.sub(r"\b__u(\d+)\b", r"u\1", field.replace("_Bool", "bool"))
                   for field in re.findall(r"^\t(.*?);", body, re.M)]
            for name, body in re.findall(r"^struct trace_event_raw_(\w+) \{\n(.*?)^\}", output,
                                         re.S | re.M)}


def programs(path):
    """Returns the KVM tracepoints for which an object has programs."""
    output = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return set(re.findall(r" tp/kvm/(\w+) ", output))
