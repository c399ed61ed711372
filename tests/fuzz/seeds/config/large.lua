return ("x"):rep(1e6)
