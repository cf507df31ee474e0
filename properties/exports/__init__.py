"""Lines of `quidnunc prove` as files that other tools check: SMT-LIB for z3 and cvc5, Promela for Spin."""
