# Written by python -m bayesnb.inference: one line for each question of the table.
from bayesnb.inference import decide as _decide
from bayesnb.inference import explain as _explain
from bayesnb.inference import intervals as _intervals
from bayesnb.inference import leave_one_out as _leave_one_out
from bayesnb.inference import parameters as _parameters
from bayesnb.inference import predict as _predict
from bayesnb.inference import sample_posterior as _sample_posterior
from bayesnb.inference import to_pymc as _to_pymc
from bayesnb.inference import uncertainty as _uncertainty
from bayesnb.inference import verify as _verify
from bayesnb.inference.classifier import Classifier

class FittedModel:
    @property
    def classifier_(self) -> Classifier: ...
    decide = _decide.decide
    describe = _parameters.describe
    explain = _explain.explain
    loo = _leave_one_out.loo
    predict = _predict.predict
    predict_interval = _intervals.predict_interval
    predict_joint_log_proba = _predict.predict_joint_log_proba
    predict_log_proba = _predict.predict_log_proba
    predict_proba = _predict.predict_proba
    sample_posterior = _sample_posterior.sample_posterior
    tables = _parameters.tables
    to_pymc = _to_pymc.to_pymc
    uncertainty = _uncertainty.uncertainty
    verify = _verify.verify
