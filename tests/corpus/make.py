#!/usr/bin/env python3
"""Makes a corpus of real graphs with the exporters that people use today.

    python make.py FOLDER                 everything that FOLDER does not hold yet
    python make.py FOLDER --only 'keras'  recipes whose name matches the regular expression
    python make.py --list                 the names alone

A recipe is one graph: an architecture, forward pass or training step, and an exporter. Networks have
random parameters; the files keep the graph and lose the numbers, as examples/models does, because a
placement depends on nothing that training changes. FOLDER/index.tsv says how each graph is loaded
(its dimensions) and what is known of it from the framework (its parameters). A recipe that fails
goes to FOLDER/failures.tsv with the exporter's words, so that the corpus never hides what it lacks.

A second run continues: what the index or the failures name is not made again. A recipe that ended
the whole process, for want of memory, counts as failed then.
"""

import argparse
import csv
import pathlib
import re
import sys
import time
import traceback

INDEX = ("file", "family", "mode", "exporter", "dims", "parameters")


def recipes():
    """Name -> function that writes the graph into a folder and returns its row of the index."""
    import keras_graphs
    import other_graphs
    import torch_graphs
    import transformer_graphs

    made = {}
    for module in (keras_graphs, torch_graphs, transformer_graphs, other_graphs):
        for name, make in module.recipes():
            assert name not in made, name
            made[name] = make
    return made


def names_in(table):
    if not table.exists():
        return set()
    with table.open(newline="") as file:
        return {row["name"] for row in csv.DictReader(file, delimiter="\t")}


def append(table, fields, row):
    fresh = not table.exists()
    with table.open("a", newline="") as file:
        writer = csv.DictWriter(file, ("name", *fields), delimiter="\t")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    chosen = {name: make for name, make in recipes().items() if re.search(arguments.only, name)}
    if arguments.list:
        print("\n".join(chosen))
        return
    if arguments.folder is None:
        parser.error("a folder is needed")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    index = arguments.folder / "index.tsv"
    failures = arguments.folder / "failures.tsv"
    running = arguments.folder / "running"  # the recipe that a former run did not come back from
    if running.exists():
        append(failures, ("error",), {"name": running.read_text(), "error": "ended the process"})
    done = names_in(index) | names_in(failures)
    for name, make in chosen.items():
        if name in done:
            continue
        start = time.monotonic()
        running.write_text(name)
        try:
            row = make(arguments.folder)
        except Exception as error:  # an exporter's failure is a result, not the end
            traceback.print_exc(limit=-3)
            cause = error.__cause__ or error  # exporters wrap what went wrong in advice
            words = " ".join(f"{type(cause).__name__}: {cause}".split())[:300]
            append(failures, ("error",), {"name": name, "error": words})
            running.unlink()
            print(f"{name}: failed", file=sys.stderr)
            continue
        append(index, INDEX, {"name": name, **row})
        running.unlink()
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
