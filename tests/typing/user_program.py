"""A small program as a user writes it; both type checkers must accept it."""

import matplotlib.pyplot as plt
import numpy as np

import sparsetoken as st

problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
attention = st.Attention(st.TwoSteps(alpha0=1.0, eta_q=25, loss="square"))
readout = st.Readout(loss="square", ridge=1e-2, alpha1=2.0)

prediction = st.predict(problem, attention, readout)
print(prediction.test_error, prediction.status.converged, prediction.advice)

curve = st.predict(problem, st.Pooled(), st.Readout("logistic", alpha1=np.geomspace(0.25, 10, 5)))
print(curve.to_frame(), curve.to_dict(), curve.to_xarray(), curve.dims, curve.coords)
print(curve.test_error.min(), curve[0].overlaps.bias, curve.isel(alpha1=slice(0, 2)).shape)
print(curve.status == "converged", curve.converged)

simulation = st.simulate(problem, attention, readout, dimension=100, trials=2)
print(simulation.status, simulation.mean.test_error, simulation.standard_error.overlaps.noise)
print(simulation.trials.cosine, simulation.trials[0].readout_cosine)
descent = st.Descent(alpha=3.0, steps=4)
trajectory = st.descend(problem, descent, tolerance=0.05, progress=False)
print(trajectory.errors.test_error, trajectory.isel(step=trajectory.best_step).weights.cosines)
measured = st.simulation.descend(problem, descent, dimension=50, trials=2)
print(measured.trials.isel(step=-1).weights.c, measured.mean.training_loss)
print(st.capacity(problem, st.Vectorized()).capacity)
print(st.align(problem, st.TwoSteps()).cosine)
print(st.tuning.best_training(problem, attention, readout, 3.0).share)
print(st.oracle.bayes_error(problem).test_error)

bags, labels = problem.sample(100, np.eye(8)[0], np.random.default_rng(0))
classifier = st.AttentionClassifier(temperature=2.0).fit(bags, labels)
print(classifier.exponent_, classifier.gain_, classifier.attention_weights(bags)[0])
average = st.BagClassifier().fit(bags, labels)
print(average.predict_token_proba(bags)[0], average.top_tokens(bags, k=2)[0], average.summary())
regressor = st.BagRegressor().fit(bags, labels + bags[:, 0, 0])
print(regressor.predict(bags).mean(), regressor.score(bags, labels))

figure, (left, right) = plt.subplots(1, 2)
curve.plot("test_error", left, label="mean pooling", color="C1")
for quantity, axes in (("test_error", left), ("training_loss", right)):
    st.simulate(
        problem, st.Pooled(), st.Readout("logistic", alpha1=[1.0, 2.0]), dimension=50, trials=2
    ).plot(quantity, axes)
trajectory.plot("cosine_q")
plt.close("all")
