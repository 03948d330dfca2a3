import bayesnb.families.family as _family

from .compound import Hurdle as Hurdle
from .compound import Mixture as Mixture
from .from_pymc import FromPyMC as FromPyMC
from .gaussian import Gaussian as Gaussian
from .gaussian import GaussianKnownVariance as GaussianKnownVariance
from .gaussian import LogNormal as LogNormal
from .hierarchical import HierarchicalCategorical as HierarchicalCategorical
from .hierarchical import HierarchicalGaussian as HierarchicalGaussian
from .multinomial import Multinomial as Multinomial
from .multivariate_gaussian import MultivariateGaussian as MultivariateGaussian
from .multivariate_gaussian import SharedGaussian as SharedGaussian
from .rates import Exponential as Exponential
from .rates import GammaKnownShape as GammaKnownShape
from .rates import Poisson as Poisson
from .rounded import Rounded as Rounded
from .sampled import StudentT as StudentT
from .trees import Ordinal as Ordinal
from .trees import PolyaTree as PolyaTree
from .trials import Bernoulli as Bernoulli
from .trials import Categorical as Categorical
from .trials import NegativeBinomial as NegativeBinomial

def families() -> dict[str, type[_family.Family]]: ...
