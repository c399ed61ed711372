"""The package with NumPy alone: graphs, problems, results, policies, batches, and what a caller gets wrong."""

import copy
import gc
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import weakref

from support import MODELS, chain

import berth
import numpy as np


class Placing(unittest.TestCase):
    def test_a_file(self):
        plan = berth.place(MODELS / "tiny_cnn.onnx", "k80x2", policy="heft", seed=3)
        self.assertTrue(plan.feasible)
        self.assertEqual(plan.policy, "heft")
        self.assertIn(plan.end, ("done", "proven"))
        self.assertLessEqual(plan.bound_us, plan.objective_us)
        self.assertGreaterEqual(plan.gap, 0)
        self.assertEqual(len(plan.assignment), len(plan.devices))
        self.assertIn("one step", str(plan))
        self.assertIn("heft", repr(plan))
        self.assertIn("<svg", plan.svg)
        self.assertIn("traceEvents", plan.trace)

    def test_views_are_the_engines_and_stay(self):
        problem = chain()
        plan = problem.place(policy="topo")
        views = plan.devices, plan.op_start_us, plan.op_end_us, plan.busy_us, plan.peak_bytes
        self.assertEqual([v.dtype for v in views], [np.int32, np.float64, np.float64, np.float64, np.int64])
        self.assertEqual([len(v) for v in views], [8, 8, 8, 3, 3])
        kept = [v.copy() for v in views]
        with self.assertRaises(ValueError):
            views[0][0] = 1
        del plan
        gc.collect()
        junk = [np.zeros(1000) for _ in range(1000)]
        for view, copied in zip(views, kept):
            np.testing.assert_array_equal(view, copied)
        self.assertEqual(len(junk), 1000)

    def test_figures_agree(self):
        problem = chain()
        devices = np.array([1, 1, 1, 1, 2, 2, 2, 2], np.int32)
        result = problem.simulate(devices)
        np.testing.assert_array_equal(result.devices, devices)
        self.assertEqual(result.runtime_us, result.op_end_us.max())
        self.assertEqual(len(result.transfers), 2)
        self.assertEqual(result.transfers["bytes"].sum(), 2 * (1 << 16))
        self.assertTrue((result.transfers["src"] == 1).all())
        same = [devices.tolist(), result, result.assignment, devices.astype(np.uint8), devices[::-1].copy()[::-1]]
        for placement in same:
            self.assertEqual(problem.simulate(placement).objective_us, result.objective_us)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "placement.json"
            result.save(path)
            self.assertEqual(problem.simulate(path).objective_us, result.objective_us)

    def test_strided_arrays_are_copied(self):
        problem = chain()
        rows = np.ones((6, 16), np.int64)[::2, ::2]
        self.assertFalse(rows.flags.c_contiguous)
        self.assertEqual(berth.Evaluator(problem).batch(rows).objective_us.shape, (3,))

    def test_a_result_of_another_problem_is_read_by_names(self):
        def machine(*kinds):
            links = [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e9, "latency_us": 1}]
            return {"format": "berth.cluster/1", "name": "two", "links": links,
                    "devices": [{"name": kind, "kind": kind} for kind in kinds]}

        graph = berth.Graph.from_arrays([0], [1], cost_us=[1, 1], output_bytes=[8, 8], names=["a", "b"])
        result = berth.Problem(graph, machine("fast", "slow")).simulate([0, 1])
        turned = berth.Problem(graph, machine("slow", "fast"))
        self.assertEqual(turned.simulate(result).assignment, {"a": "fast", "b": "slow"})
        self.assertEqual(turned.place(policy="topo", initial=result).feasible, True)
        other = berth.Graph.from_arrays([0], [1], cost_us=[1, 1], names=["p", "q"])
        with self.assertRaisesRegex(berth.InvalidFile, "graph 'graph' has no such op"):
            berth.Problem(other, machine("fast", "slow")).simulate(result)

    def test_comparison(self):
        problem = chain()
        found = berth.compare(problem, policies=["topo", "single", "no-such"])
        self.assertEqual(len(found), 2)
        self.assertLessEqual(found[0].objective_us, found[1].objective_us)
        self.assertIn("no-such", found.failures["no-such"])
        self.assertIs(found.best, found[0])
        self.assertIn("single", str(found))
        self.assertIn("<table", found._repr_html_())
        self.assertIn("<html", found.report())
        self.assertIn("heft", berth.Engine().policies())

    def test_this_machine_and_a_phone(self):
        src, dst = np.arange(3), np.arange(1, 4)
        graph = berth.Graph.from_arrays(src, dst, cost_us=np.full(4, 100.0))
        self.assertEqual(len(set(berth.place(graph, cluster="here", policy="single").assignment.values())), 1)
        placed = berth.place(graph, cluster="a17pro", policy="topo")
        self.assertNotIn("npu:0", placed.assignment.values())  # the types of these ops are not the NPU's

    def test_whose_placement_it_is(self):
        problem = chain()
        plain = problem.place(policy="topo")
        self.assertEqual((plain.whose, plain.own_us, plain.best_us, plain.start_us), ("none", 0, 0, 0))
        if "placeto" not in berth.Engine().policies():
            self.skipTest("policy placeto is not built, so that nothing here learns")
        learned = problem.place(policy="placeto")
        self.assertNotEqual(learned.whose, "none")
        self.assertEqual(learned.objective_us, learned.best_us)  # the one to use
        self.assertLessEqual(learned.best_us, min(learned.own_us, learned.start_us))
        self.assertEqual(problem.compare(["placeto"]).best.objective_us, learned.own_us)

    def test_notebook_shows_names_as_text(self):
        graph = berth.Graph.from_arrays([0], [1], names=["<script>alert(1)</script>", "b"], cost_us=[1, 2])
        result = berth.Problem(graph, "k80x2").place(policy="single")
        self.assertNotIn("<script", result._repr_html_())

    def test_settings(self):
        problem = chain(constraints=[{"pin": "layer3", "to": "gpu:1"}], groups=4, settings={"seed": 5})
        plan = problem.place(policy="random")
        self.assertEqual(plan.assignment["layer3"], "gpu:1")
        self.assertEqual(json.loads(plan.placement)["provenance"]["seed"], 5)
        self.assertEqual(problem.group_count, problem.array("groups").max() + 1)
        self.assertEqual(problem.array("cost_us").shape, (problem.group_count, 3))
        self.assertTrue(chain().place(policy="topo", budget=float("inf")).feasible)

    def test_caller_is_stronger_than_the_environment(self):
        os.environ["BERTH_CONFIG"] = '{"format": "berth.settings/1", "policy": "topo", "seed": 9}'
        try:
            plan = chain().place(policy="random")
            self.assertEqual(plan.policy, "random")
            self.assertEqual(json.loads(plan.placement)["provenance"]["seed"], 9)
        finally:
            del os.environ["BERTH_CONFIG"]

    def test_plans(self):
        plan = chain().place(policy="single")
        self.assertIn("layer0", plan.plan("csv"))
        with self.assertRaises(berth.Error):
            plan.vllm
        for_tool = chain(tool="openvino").place(policy="topo")  # any op anywhere
        self.assertIn("layer0", for_tool.plan("openvino"))
        page = berth.report(plan)
        self.assertIn("<html", page)

    def test_what_a_tool_cannot_have_names_the_search_for_it(self):
        choices = {"dims": {"batch": 1, "sequence": 64}, "policy": "round_robin"}
        anywhere = berth.place(MODELS / "gpt2.onnx", "rtx4090+rtx4060", **choices)
        with self.assertRaisesRegex(berth.Unsupported, '; a search with the setting "tool": "accelerate" looks for a plan'):
            anywhere.device_map
        # The first example of the README.
        plan = berth.place(MODELS / "gpt2.onnx", "rtx4090+rtx4060", tool="accelerate", threads=1, moves=1000,
                           dims=choices["dims"])
        self.assertTrue(any(name.startswith("transformer") for name in plan.device_map))

    def test_a_plan_for_vllm(self):
        model, choices = MODELS / "gpt2.onnx", {"dims": {"batch": 1, "sequence": 64}, "budget": "2s", "threads": 1}
        one = berth.place(model, "2xrtx3090", tool="vllm", **choices).vllm
        self.assertEqual(one.arguments, {"pipeline_parallel_size": 1})
        self.assertEqual(one.environment["VLLM_PP_LAYER_PARTITION"], "12")
        two = berth.place(model, "2xrtx3090", tool="vllm", objective="throughput", **choices).vllm
        self.assertEqual(two.arguments, {"pipeline_parallel_size": 2})
        parts = [int(part) for part in two.environment["VLLM_PP_LAYER_PARTITION"].split(",")]
        self.assertEqual((len(parts), sum(parts)), (2, 12))
        self.assertNotIn("CUDA_VISIBLE_DEVICES", two.environment)  # both are used
        with self.assertRaisesRegex(berth.Unsupported, "no layers to cut between"):
            berth.place(MODELS / "inception_v3.onnx", "2xrtx3090", tool="vllm", policy="topo")

    def test_explain(self):
        plan = chain().place(policy="topo")
        self.assertIn("layer2 is on", plan.explain("layer2"))
        self.assertEqual(plan.explain("layer2"), berth.explain(plan, 2))

    def test_progress_and_stop(self):
        told = []
        plan = chain(64).place(policy="mcmc", options={"moves": 2000}, progress=lambda us, text: told.append((us, text)))
        self.assertTrue(told and all(us > 0 and text for us, text in told))
        stopped = chain(64).place(policy="mcmc", options={"moves": 10**9}, bound="none", should_stop=lambda: True)
        self.assertEqual(stopped.end, "cancelled")
        self.assertTrue(stopped.feasible)

    def test_what_callbacks_throw_is_raised(self):
        def bad(*_):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            chain(64).place(policy="mcmc", options={"moves": 10**6}, progress=bad)
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            chain(64).place(policy="mcmc", options={"moves": 10**6}, should_stop=bad)

    def test_what_callbacks_throw_leaves_no_result_behind(self):
        def bad():
            raise ZeroDivisionError("mine")

        held, takes = [], berth._c.Object.take

        def take(handle):
            taken = takes(handle)
            held.append(weakref.ref(taken))
            return taken

        def search(run):
            with self.assertRaisesRegex(ZeroDivisionError, "mine"):
                run()

        with unittest.mock.patch.object(berth._c.Object, "take", take):
            search(lambda: chain().place(policy="heft", should_stop=bad))
            search(lambda: chain().compare(["heft", "topo"], should_stop=bad))
        gc.collect()
        self.assertTrue(held)
        self.assertFalse([each for each in held if each() is not None])

    def test_the_interpreter_runs_beside_a_search(self):
        counted, ended = [0], threading.Event()

        def search():
            chain(200).place(policy="mcmc", options={"moves": 20000, "chains": 1}, threads=1)
            ended.set()

        thread = threading.Thread(target=search)
        thread.start()
        while not ended.is_set():
            counted[0] += 1
        thread.join()
        self.assertGreater(counted[0], 100)  # one that waited for the search would count once or twice

    def test_ctrl_c_returns_the_best_so_far(self):
        program = ("import signal, sys; sys.path.insert(0, sys.argv[1]); from support import MODELS; import berth\n"
                   "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                   "problem = berth.Problem(MODELS / 'inception_v3.onnx', 'k80x4', groups=100)\n"
                   "begun = lambda: print('begun', flush=True)\n"
                   "plan = problem.place(policy='mcmc', options={'moves': 10**9}, bound='none', should_stop=begun)\n"
                   "print(plan.end, plan.feasible, flush=True)\n")
        here = str(pathlib.Path(__file__).parent)
        child = subprocess.Popen([sys.executable, "-c", program, here], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "begun\n")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=300)
        self.assertEqual(out.splitlines()[-1], "cancelled True")
        self.assertEqual(child.returncode, 0)

    def test_ctrl_c_during_a_search_that_does_not_ask_is_not_lost(self):
        def pressed(search):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the interpreter looks for signals between two lines
                pass
            return [0] * search.groups

        berth.register("py-pressed", pressed)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.assertEqual(chain().place(policy="py-pressed").end, "cancelled")
            ends = {row.policy: row.end for row in chain().compare(["single", "py-pressed"])}
            self.assertEqual(ends["py-pressed"], "cancelled")
            self.assertNotEqual(ends["single"], "cancelled")
        finally:
            signal.signal(signal.SIGINT, before)


class Policies(unittest.TestCase):
    def test_a_function_is_a_policy(self):
        @berth.policy("py-cheapest", options={"rounds": 2})
        def cheapest(search):
            """Each group where it is cheapest."""
            self.assertEqual(search.cost_us.shape, (search.groups, search.devices))
            self.assertEqual(search.edges.shape, (len(search.edge_bytes), 2))
            self.assertEqual(search.option("rounds"), "3")
            self.assertEqual(search.option("none"), "")
            self.assertFalse(search.should_stop())
            devices = search.cost_us.argmin(axis=1)
            objective, fits = search.evaluate(devices)
            self.assertTrue(fits and objective > 0)
            search.say("all are cheap")
            kept.append(search)
            return devices

        kept = []
        problem = chain()
        plan = problem.place(policy="py-cheapest", options={"rounds": 3})
        self.assertEqual(plan.policy, "py-cheapest")
        self.assertIn("all are cheap", plan.notes)
        self.assertIn("py-cheapest", berth.Engine().policies())
        with self.assertRaisesRegex(berth.InvalidArgument, "has ended"):
            kept[0].evaluate([0] * 8)
        with self.assertRaisesRegex(berth.InvalidArgument, "already"):
            berth.register("py-cheapest", cheapest)

    def test_options_are_of_their_defaults_types(self):
        seen = []

        @berth.policy("py-options", options={"rounds": 2, "share": 0.5, "shuffle": True, "word": "x"})
        def place(search):
            seen.append([search.option(name) for name in ("rounds", "share", "shuffle", "word")])
            return search.cost_us.argmin(axis=1)

        for given in ({}, {"shuffle": True}, {"rounds": 3, "share": 1, "shuffle": False, "word": 7}):
            chain().place(policy="py-options", options=given)
        self.assertEqual(seen, [["2", "0.5", "true", "x"]] * 2 + [["3", "1", "false", "7"]])
        for given, kind in (({"rounds": "many"}, "an integer"), ({"rounds": 0.5}, "an integer"), ({"share": "x"}, "a number"),
                            ({"shuffle": "yes"}, "true or false")):
            with self.assertRaisesRegex(berth.Error, f"option '{list(given)[0]}' takes {kind}"):
                chain().place(policy="py-options", options=given)
        self.assertEqual(len(seen), 3)

    def test_it_is_equal_in_a_comparison(self):
        berth.register("py-random", lambda search: np.random.default_rng(search.seed).integers(1, 3, search.groups))
        first = chain().compare(["py-random", "topo"], seed=4)
        again = chain().compare(["topo", "py-random"], seed=4)
        self.assertEqual([r.objective_us for r in first], [r.objective_us for r in again])
        self.assertEqual(sorted(r.policy for r in first), ["py-random", "topo"])

    def test_what_it_throws_is_the_cause(self):
        berth.register("py-bad", lambda search: 1 / 0)
        with self.assertRaisesRegex(berth.Error, "py-bad.*ZeroDivisionError") as caught:
            chain().place(policy="py-bad")
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        fallen = chain().place(policy="py-bad", fallbacks=["topo"])
        self.assertEqual(fallen.policy, "topo")

    def test_each_reason_is_its_own(self):
        def fails(error):
            def place(search):
                search.say("one\ntwo")
                raise error
            return place

        names = ["py-lines", "py-next", "single"]
        for name, error in zip(names, (ValueError("first\nsecond: line\r\nthird\x0cpage: two\u2028"), KeyError("of the next"))):
            berth.register(name, fails(error))
        failures = chain().compare(names).failures
        self.assertRegex(failures["py-lines"], "ValueError: first second: line *third\x0cpage: two\u2028$")
        self.assertRegex(failures["py-next"], "KeyError: 'of the next'$")

    def test_a_note_of_two_lines_is_one(self):
        def says(search):
            search.say("one\ntwo\u2028three")
            return [1] * search.groups

        berth.register("py-says", says)
        self.assertIn("one two\u2028three", chain().place(policy="py-says").notes)

    def test_a_name_of_an_installed_policy_is_taken(self):
        with self.assertRaisesRegex(berth.InvalidArgument, "there is a policy 'heft' already"):
            berth.register("heft", lambda search: [0] * search.groups)
        self.assertEqual(chain().place(policy="heft").policy, "heft")

    def test_answers_are_checked(self):
        for name, answer in (("py-short", [0]), ("py-real", np.zeros(8)), ("py-none", None), ("py-far", [9] * 8),
                             ("py-large", [2**40] * 8)):
            berth.register(name, lambda search, answer=answer: answer)
            with self.assertRaises(berth.Error, msg=name):
                chain().place(policy=name)


class Batches(unittest.TestCase):
    def test_a_batch_is_what_simulate_says(self):
        problem = chain(12, groups=5)
        random = np.random.default_rng(1)
        rows = random.integers(1, 3, (40, problem.group_count))
        groups = problem.array("groups")
        with berth.Evaluator(problem, threads=2) as evaluator:
            by_group = evaluator.batch(rows, by_group=True)
            by_op = evaluator.batch(rows[:, groups])
        np.testing.assert_array_equal(by_group.objective_us, by_op.objective_us)
        for i in (0, 7, 39):
            self.assertEqual(problem.simulate(rows[i][groups]).objective_us, by_group.objective_us[i])
        self.assertTrue(by_group.feasible.all())
        self.assertEqual(by_group.feasible.dtype, bool)

    def test_episodes(self):
        problem = chain(10)
        episodes = berth.Episodes(problem, 3, look_ahead=True)
        arrays = episodes.reset(7)
        again = berth.Episodes(problem, 3, threads=1)
        np.testing.assert_array_equal(again.reset(7)["placement"], arrays["placement"])
        random = np.random.default_rng(2)
        for step in range(10):
            self.assertEqual(list(arrays["current"]), [step] * 3)
            chosen = random.integers(1, 3, 3)
            ahead = arrays["alternatives"][np.arange(3), chosen]
            self.assertEqual(episodes.step(chosen), step == 9)
            known = np.isfinite(ahead)
            np.testing.assert_array_equal(arrays["objective_us"][known], ahead[known])
        for e in range(3):
            self.assertEqual(problem.simulate(episodes.placement(e)).objective_us, arrays["objective_us"][e])
        with self.assertRaisesRegex(berth.InvalidArgument, "reset"):
            episodes.step([1, 1, 1])
        start = episodes.reset(1, initial=[[2] * 10])["placement"]
        self.assertTrue((start == 2).all())
        with self.assertRaisesRegex(berth.InvalidArgument, "no placement to start from"):
            episodes.reset(1, initial=np.zeros((0, 10), int))
        self.assertIn("ends_later", berth.features()["devices"])


class Wrong(unittest.TestCase):
    def refused(self, part, call, kind=berth.InvalidArgument):
        with self.assertRaisesRegex(kind, part):
            call()

    def test_arrays(self):
        problem, evaluator = chain(), berth.Evaluator(chain())
        self.refused("float64", lambda: problem.simulate(np.zeros(8)))
        self.refused("bool", lambda: problem.simulate(np.zeros(8, bool)))
        self.refused("shape", lambda: problem.simulate(np.zeros(7, int)))
        self.refused("shape", lambda: problem.simulate(np.zeros((8, 1), int)))
        self.refused("beyond", lambda: problem.simulate(np.full(8, 2**33)))
        self.refused("-1|device", lambda: problem.simulate([-1] * 8))
        self.refused("NoneType|object", lambda: problem.simulate(None))
        self.refused("layer", lambda: problem.simulate({}))
        self.refused("this machine has", lambda: problem.simulate({f"layer{i}": "tpu:7" for i in range(8)}))
        self.refused("cannot be read", lambda: problem.simulate("/no/such/file"), berth.NotFound)
        self.refused("any, 8", lambda: evaluator.batch(np.zeros((3, 9), int)))
        self.refused("object|made", lambda: evaluator.batch([[1, 2], [3]]))
        self.refused("float64", lambda: berth.Graph.from_arrays([0.5], [1], count=2))
        self.refused("shape", lambda: berth.Graph.from_arrays([0, 1], [1], count=2))
        self.refused("names op", lambda: berth.Graph.from_arrays([0], [5], count=2))
        self.refused("cycle", lambda: berth.Graph.from_arrays([0, 1], [1, 0], count=2), berth.InvalidGraph)
        self.refused("finite", lambda: berth.Graph.from_arrays([0], [1], cost_us=[1, np.nan]), berth.InvalidGraph)
        self.refused("not known", lambda: berth.Graph.from_arrays([0], [1]))
        self.assertEqual(len(berth.Graph.from_arrays([0], [1], count=2)), 2)
        for count in (2**20 + 1, 2**31 - 1, 2**64):  # before memory is asked for
            self.refused("number of ops is", lambda count=count: berth.Graph.from_arrays([0], [1], count=count))
        self.refused("shape", lambda: berth.Graph.from_arrays([0], [1], cost_us=[1, 1], count=2**31 - 1))
        self.refused("give text", lambda: berth.Graph.from_arrays([0], [1], names=range(2**31 - 1)))

    def test_names(self):
        self.refused("no-such", lambda: chain().place(policy="no-such"), berth.NotFound)
        self.refused("no/such", lambda: berth.place("no/such.onnx", "k80x2"), berth.NotFound)
        self.refused("", lambda: berth.Problem(chain().graph, "napkin"), berth.Error)
        self.refused("polcy", lambda: chain(polcy="topo"), berth.InvalidFile)
        self.refused("settled", lambda: chain().place(groups=3))
        self.refused("settled", lambda: berth.place(chain(), "k80x4"))
        self.refused("settled", lambda: berth.simulate(chain(), [1] * 8, batch=2))
        for late in (lambda: chain().place(polcy="topo"), lambda: berth.simulate(chain(), [1] * 8, polcy="topo")):
            self.refused("unknown key 'polcy'; did you mean 'policy'", late, berth.InvalidFile)
        self.refused("JSON", lambda: chain(cluster_of=object()))
        self.refused("is no model", lambda: berth.place(3, "k80x2"))
        self.refused("no array", lambda: chain().array("weights"))
        self.refused("known", lambda: berth.Episodes(chain(), group_features=["mood"]))
        self.refused("list of texts", lambda: berth.Episodes(chain(), group_features="cost"))
        self.refused("Known|forms|device_map", lambda: chain().place(policy="topo").plan("napkin"), berth.NotFound)
        self.refused("settled", lambda: berth.place(chain(), tool="vllm"))
        self.refused("vllm", lambda: chain(tool="napkin"), berth.NotFound)
        self.refused("called", lambda: chain().place(policy="topo").explain("layer99"))
        self.refused("UTF-8", lambda: berth.Graph.of("\ud800"))

    def test_closed(self):
        episodes, evaluator = berth.Episodes(chain()), berth.Evaluator(chain())
        arrays = episodes.reset(1)
        before = arrays["placement"].copy()
        episodes.close()
        evaluator.close()
        episodes.close()
        gc.collect()
        np.testing.assert_array_equal(arrays["placement"], before)  # views stay
        self.refused("closed", lambda: episodes.step([1]))
        self.refused("closed", lambda: episodes.reset(2))
        self.refused("closed", lambda: evaluator.batch(np.ones((1, 8), int)))

    def test_two_threads_in_one(self):
        evaluator, problems = berth.Evaluator(chain(400), threads=1), []
        rows = np.ones((3000, 400), np.int32)

        def work():
            try:
                for _ in range(5):
                    evaluator.batch(rows)
            except berth.InvalidArgument as error:
                problems.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(problems)
        self.assertIn("give each thread its own", problems[0])
        self.assertEqual(len(evaluator.batch(rows).objective_us), 3000)  # nothing is left behind

    def test_copies_and_pickles(self):
        problem = chain()
        self.assertEqual(copy.deepcopy(problem).simulate([1] * 8).objective_us, problem.simulate([1] * 8).objective_us)
        with self.assertRaisesRegex(berth.InvalidArgument, "another process"):
            pickle.dumps(problem)

    def test_fork(self):
        problem, episodes = chain(), berth.Episodes(chain(), 4)
        episodes.reset(1)
        problem.place(policy="mcmc", options={"moves": 500})
        context = multiprocessing.get_context("fork")
        child = context.Process(target=_in_a_child, args=(problem, episodes))
        child.start()
        child.join(120)
        self.assertEqual(child.exitcode, 0)
        episodes.step([1] * 4)  # the parent goes on

    def test_without_its_library(self):
        program = "import berth\ntry: berth.version()\nexcept berth.NotFound as error: print(error)"
        environment = {**os.environ, "BERTH_LIBRARY": "/no/such/libberth_c.so"}
        out = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn("BERTH_LIBRARY", out.stdout)

    def test_another_library(self):
        program = "import berth\ntry: berth.version()\nexcept berth.NotFound as error: print(error)"
        environment = {**os.environ, "BERTH_LIBRARY": "libc.so.6"}
        out = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertIn("older than this package", out.stdout)


def _in_a_child(problem, episodes):
    for call in (lambda: episodes.step([1] * 4), lambda: problem.place(policy="topo"), lambda: episodes.reset(1)):
        try:
            call()
            os._exit(2)
        except berth.InvalidArgument as error:
            if "forked" not in str(error):
                os._exit(3)
    own = chain()
    inner = berth.Episodes(own, 4)
    inner.reset(1)
    inner.step([1] * 4)
    if not own.place(policy="mcmc", options={"moves": 300}).feasible:
        os._exit(4)
    sys.exit(0)


if __name__ == "__main__":
    unittest.main()
