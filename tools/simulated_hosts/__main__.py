"""`python -m tools.simulated_hosts`."""

from tools.simulated_hosts import main

raise SystemExit(main())
