"""The estimator passes all checks of scikit-learn."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesnb import BayesianNB, Binned


@parametrize_with_checks(
    [
        BayesianNB(),
        BayesianNB(estimate="map"),
        BayesianNB(Binned(4), estimate="mean", class_prior="frequencies"),
        BayesianNB(dependence="weighted"),
    ]
)
def test_the_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
