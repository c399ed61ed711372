// Ops in regions that ask for devices.
func.func @body(%x: tensor<512x512xf32>, %go: i1) -> tensor<512x512xf32> {
  %0 = scf.if %go -> tensor<512x512xf32> {
    %1 = math.absf %x : tensor<512x512xf32>
    %2 = math.absf %1 {berth.device = "gpu:1"} : tensor<512x512xf32>
    %3 = math.absf %2 {berth.device = "gpu:1"} : tensor<512x512xf32>
    scf.yield %3 : tensor<512x512xf32>
  } else {
    scf.yield %x : tensor<512x512xf32>
  }
  return %0 : tensor<512x512xf32>
}
func.func @two(%x: tensor<512x512xf32>, %go: i1) -> tensor<512x512xf32> {
  %0 = scf.if %go -> tensor<512x512xf32> {
    %1 = math.absf %x : tensor<512x512xf32>
    %2 = math.absf %1 {berth.device = "gpu:1"} : tensor<512x512xf32>
    %3 = math.absf %2 {berth.device = "gpu:0"} : tensor<512x512xf32>
    scf.yield %3 : tensor<512x512xf32>
  } else {
    scf.yield %x : tensor<512x512xf32>
  }
  return %0 : tensor<512x512xf32>
}
func.func @unknown(%x: tensor<512x512xf32>, %go: i1) -> tensor<512x512xf32> {
  %0 = scf.if %go -> tensor<512x512xf32> {
    %1 = math.absf %x : tensor<512x512xf32>
    %2 = math.absf %1 {berth.device = "gpu:9"} : tensor<512x512xf32>
    scf.yield %2 : tensor<512x512xf32>
  } else {
    scf.yield %x : tensor<512x512xf32>
  }
  return %0 : tensor<512x512xf32>
}
