# In a mount namespace of its own: a latch that is off on a disk that is read-only, then a stop.
set -e
mkdir -p "$2/brake"
mount -t tmpfs -o size=1m tmpfs "$2/brake"
"$1" -c 'import sys; from amiral.store.brake import Brake; Brake(sys.argv[1]).prepare()' "$2/brake"
mount -o remount,ro "$2/brake"
exec "$1" -c '
import sys
from amiral.base.errors import AmiralError
from amiral.safety.scope import Place
from amiral.safety.stop import Order, stop_agents
try:
    stop_agents(Place(sys.argv[1], sys.argv[2]), Order("", "enough", "owner"))
except AmiralError as error:
    print(error.kind, error.message, error.next_step, sep="\n")
' "$2" "$3"
