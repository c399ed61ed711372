"""The environments: Gymnasium's own checker, batches, rewards, masks."""

import unittest
import warnings

from support import MODELS, chain, need

need("gymnasium")
import berth
import berth.gym
import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env


def mixed():
    """Two kinds of devices; the first op cannot run on a processor, so that masks matter."""
    return chain(10, constraints=[{"forbid": "layer0", "on": "cpu"}, {"pin": "layer4", "to": "gpu:1"}])


class Checker(unittest.TestCase):
    def test_the_checker_has_nothing_to_say(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(gymnasium.make("berth/Placement-v0", model=chain()).unwrapped)
            check_env(gymnasium.make("berth/Placement-v0", model=MODELS / "tiny_cnn.onnx", cluster="rtx3060+rtx3060+host",
                                     inputs="any", group_features=("current", "tail"), device_features=(),
                                     reward="terminal").unwrapped)

    def test_wrappers(self):
        env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("berth/Placement-v0", model=chain()))
        env.reset(seed=1)
        for step in range(8):
            _, _, terminated, truncated, info = env.step(1)
            self.assertEqual((terminated, truncated), (step == 7, False))
        self.assertEqual(info["episode"]["l"], 8)
        self.assertIsNone(env.render() if env.render_mode else None)
        env.close()


class Episodes(unittest.TestCase):
    def test_masks(self):
        env = gymnasium.make("berth/Placement-v0", model=mixed())
        observation, info = env.reset(seed=5)
        self.assertEqual(list(observation["allowed"]), [0, 1, 1])
        with self.assertRaisesRegex(berth.InvalidArgument, "cannot run"):
            env.step(0)
        env.reset(seed=5)
        for step in range(10):
            self.assertIn(observation, env.observation_space)
            self.assertEqual(info["action_mask"].dtype, np.int8)
            observation, _, done, _, info = env.step(env.action_space.sample(info["action_mask"]))
        self.assertTrue(done)
        result = env.unwrapped.problem.simulate(env.unwrapped.placement())
        self.assertEqual(result.objective_us, info["objective_us"])

    def test_rewards_of_an_episode_add_up(self):
        env = gymnasium.make("berth/Placement-v0", model=chain())
        _, info = env.reset(seed=3)
        before, total = info["objective_us"], 0
        for _ in range(8):
            _, reward, _, _, info = env.step(2)
            total += reward
        self.assertAlmostEqual(total, (before - info["objective_us"]) / 1e6)
        last = gymnasium.make("berth/Placement-v0", model=chain(), reward="terminal")
        last.reset(seed=3)
        rewards = [last.step(2)[1] for _ in range(8)]
        self.assertEqual(rewards[:7], [0] * 7)
        self.assertAlmostEqual(rewards[7], -info["objective_us"] / 1e6)

    def test_a_function_is_a_reward(self):
        env = gymnasium.make("berth/Placement-v0", model=chain(), reward=lambda before, after, last: after.objective_us)
        env.reset(seed=3)
        _, reward, _, _, info = env.step(2)
        self.assertEqual(reward, info["objective_us"])

    def test_what_a_caller_gets_wrong(self):
        with self.assertRaisesRegex(berth.InvalidArgument, "improvement"):
            berth.gym.PlacementEnv(chain(), reward="fame")
        with self.assertRaisesRegex(berth.InvalidArgument, "berth.Problem"):
            berth.gym.PlacementEnv(chain(), "k80x4")
        env = berth.gym.PlacementEnv(chain())
        with self.assertRaisesRegex(berth.InvalidArgument, "initial"):
            env.reset(options={"initail": 1})
        for action in (None, 1.5, 99, [1, 2], "gpu:0"):
            env.reset(seed=1)
            with self.assertRaises(berth.InvalidArgument):
                env.step(action)
        env.close()
        with self.assertRaisesRegex(berth.InvalidArgument, "closed"):
            env.reset()


class Vectors(unittest.TestCase):
    def test_spaces_seeds_and_the_next_episode(self):
        envs = gymnasium.make_vec("berth/Placement-v0", num_envs=5, model=mixed())
        self.assertIsInstance(envs.unwrapped, berth.gym.PlacementVectorEnv)
        first, info = envs.reset(seed=11)
        self.assertIn(first, envs.observation_space)
        again, _ = envs.reset(seed=11)
        for name, values in first.items():
            np.testing.assert_array_equal(values, again[name])
        self.assertFalse((first["placement"] == envs.reset(seed=12)[0]["placement"]).all())
        envs.reset(seed=11)
        for step in range(10):
            actions = np.array([envs.single_action_space.sample(mask) for mask in info["action_mask"]])
            observation, reward, terminated, truncated, info = envs.step(actions)
            self.assertEqual((reward.shape, terminated.all(), truncated.any()), ((5,), step == 9, False))
        observation, reward, terminated, _, info = envs.step(actions)  # starts anew
        self.assertEqual((reward.any(), terminated.any(), list(observation["current"])), (False, False, [0] * 5))
        self.assertIn(observation, envs.observation_space)
        envs.close()

    def test_a_vector_is_its_episodes(self):
        problem = chain(12)
        envs = berth.gym.PlacementVectorEnv(problem, num_envs=4)
        start = np.random.default_rng(0).integers(1, 3, (4, 12))
        envs.reset(seed=1, options={"initial": start})
        singles = [berth.gym.PlacementEnv(problem) for _ in range(4)]
        for env, row in zip(singles, start):
            env.reset(seed=1, options={"initial": row[None]})
        random = np.random.default_rng(3)
        for _ in range(12):
            actions = random.integers(1, 3, 4)
            observation, reward, _, _, info = envs.step(actions)
            for e, env in enumerate(singles):
                alone, value, _, _, about = env.step(int(actions[e]))
                self.assertEqual((value, about["objective_us"]), (reward[e], info["objective_us"][e]))
                for name in alone:
                    np.testing.assert_array_equal(alone[name], observation[name][e])

    def test_observations_are_copies_unless_told(self):
        kept, _ = berth.gym.PlacementVectorEnv(chain(), num_envs=2).reset(seed=1)
        envs = berth.gym.PlacementVectorEnv(chain(), num_envs=2, copy=False)
        views, _ = envs.reset(seed=1)
        np.testing.assert_array_equal(kept["groups"], views["groups"])
        envs.step([1, 1])
        self.assertFalse((kept["groups"] == views["groups"]).all())

    def test_gymnasiums_own_vectors(self):
        for mode in ("sync", "async"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of threads and fork
                envs = gymnasium.make_vec("berth/Placement-v0", num_envs=2, vectorization_mode=mode,
                                          model=str(MODELS / "tiny_cnn.onnx"), cluster="k80x2", groups=6)
            observation, info = envs.reset(seed=3)
            mask = info["action_mask"]
            envs.step(np.array([int(np.flatnonzero(row)[0]) for row in mask]))
            self.assertIn(observation, envs.observation_space)
            envs.close()


if __name__ == "__main__":
    unittest.main()
