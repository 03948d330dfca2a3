# Written by python -m bayesnb.inference: one line for each question of the table.
from bayesnb.inference import ask as _ask
from bayesnb.inference import checks as _checks
from bayesnb.inference import class_prior as _class_prior
from bayesnb.inference import compiled as _compiled
from bayesnb.inference import conformal as _conformal
from bayesnb.inference import credal as _credal
from bayesnb.inference import decide as _decide
from bayesnb.inference import draws as _draws
from bayesnb.inference import explain as _explain
from bayesnb.inference import independence as _independence
from bayesnb.inference import intervals as _intervals
from bayesnb.inference import label_noise as _label_noise
from bayesnb.inference import leave_one_out as _leave_one_out
from bayesnb.inference import log_odds as _log_odds
from bayesnb.inference import parameters as _parameters
from bayesnb.inference import predict as _predict
from bayesnb.inference import predict_table as _predict_table
from bayesnb.inference import sample_posterior as _sample_posterior
from bayesnb.inference import sampling as _sampling
from bayesnb.inference import sensitivity as _sensitivity
from bayesnb.inference import uncertainty as _uncertainty
from bayesnb.inference import verify as _verify
from bayesnb.inference.questions import asked

class Questions:
    ask_next = asked(_ask.ask_next)
    compile = asked(_compiled.compile)
    conformal = asked(_conformal.conformal)
    credible_set = asked(_decide.credible_set)
    decide = asked(_decide.decide)
    describe = asked(_parameters.describe)
    estimate_class_prior = asked(_class_prior.estimate_class_prior)
    explain = asked(_explain.explain)
    independence = asked(_independence.independence)
    label_next = asked(_ask.label_next)
    linear_form = asked(_parameters.linear_form)
    log_odds = asked(_log_odds.log_odds)
    loo = asked(_leave_one_out.loo)
    predict = asked(_predict.predict)
    predict_credal = asked(_credal.predict_credal)
    predict_interval = asked(_intervals.predict_interval)
    predict_joint_log_proba = asked(_predict.predict_joint_log_proba)
    predict_log_proba = asked(_predict.predict_log_proba)
    predict_proba = asked(_predict.predict_proba)
    predict_table = asked(_predict_table.predict_table)
    predictive_checks = asked(_checks.predictive_checks)
    prob_top = asked(_intervals.prob_top)
    sample = asked(_sampling.sample)
    sample_posterior = asked(_sample_posterior.sample_posterior)
    sample_proba = asked(_draws.sample_proba)
    sensitivity = asked(_sensitivity.sensitivity)
    suspicious_labels = asked(_label_noise.suspicious_labels)
    tables = asked(_parameters.tables)
    to_pymc = asked(_sampling.to_pymc)
    uncertainty = asked(_uncertainty.uncertainty)
    verify = asked(_verify.verify)
    with_class_prior = asked(_class_prior.with_class_prior)
    write_predictions = asked(_predict_table.write_predictions)
