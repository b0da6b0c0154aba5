# Greets everybody named on the command line.
set -u
for name in "$@"; do
  echo "Hello, $name!"
done
