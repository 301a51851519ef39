// In place of all other files of this folder where there is no Eigen.
#include "reproduce.hpp"

#include <primsel/core/error.hpp>

namespace cli::reproduce {

void run(Options const&) { primsel::fail("reproduce: its models need Eigen, without which this program was built"); }

}  // namespace cli::reproduce
