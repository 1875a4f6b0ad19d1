"""Record an expert in FrozenLake with Gymnasium, learn what it wants, certify a policy, and run that with Gymnasium."""

import gymnasium
import numpy as np

from journeyman import ActiveLearner, evaluate_policy, simulate
from journeyman.gym import gymnasium_world, play, read_tables

DISCOUNT, EPSILON, NUM_EPISODES = 0.95, 0.01, 3000

# 1. The environment as a problem: dynamics from its table, three features of unknown worth: step, hole, goal.
env = gymnasium.make("FrozenLake-v1")
world = gymnasium_world(env, reward="features", beta=50.0, discount=DISCOUNT)
problem, mdp = world.problem, world.problem.mdp
print(f"{mdp.num_states} states, {mdp.num_actions} actions; {problem.reward_model.num_parameters} unknown rewards")

# 2. Record: the expert, who knows the environment's own reward, acts in Gymnasium.
recorded = play(env, world.expert.policy, 1, discount=DISCOUNT, seed=2, mdp=mdp)
print(f"Recorded an episode of {len(recorded.demonstrations[0])} steps.")

# 3. Learn: from what was recorded, then by asking what to do in the states that matter most.
learner = ActiveLearner(problem, epsilon=EPSILON, delta=0.1, seed=0)
learner.attach(recorded.demonstrations)
result = simulate(learner, world.expert, 200)
certificate = result.certificate
print(f"Asked {result.num_steps} questions. {certificate.text()}")
assert result.is_finished, "the certificate should hold after at most 200 answers"
print(f"True regret, which the learner does not know: {world.regret(learner.apprentice()):.2g}")

# 4. Run the certified policy with Gymnasium, and compare with what the model predicts for its own reward.
policy = learner.apprentice()
played = play(env, policy, NUM_EPISODES, discount=DISCOUNT, seed=2, mdp=mdp)
tables = read_tables(env)
reward, horizon = tables.expected_reward, tables.time_limit
endless = float(mdp.initial @ evaluate_policy(mdp, policy, reward))
limited = mdp.unrolled(horizon)  # Gymnasium stops episodes after 100 steps; a state for each time has that too
predicted = float(limited.initial @ evaluate_policy(limited, np.tile(policy, horizon), np.tile(reward, (horizon, 1))))
print(
    f"Predicted value of the certified policy: {predicted:.4f} within {horizon} steps ({endless:.4f} without a limit)"
)
print(f"Mean return of {NUM_EPISODES} episodes in Gymnasium: {played.mean:.4f} +- {played.standard_error:.4f}")
deviation = (played.mean - predicted) / played.standard_error
print(
    f"They differ by {deviation:+.1f} standard errors; {played.num_truncated} episodes were stopped by the time limit."
)
assert abs(deviation) < 4.0, "returns in Gymnasium should agree with the predicted value"
