func.func @main(%go: i1) {
  cf.cond_br %go, ^a, ^b
^a:
  return
^b:
  return
}
