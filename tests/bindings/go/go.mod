module gossamertests

go 1.19

require gossamer v0.0.0

replace gossamer => ../../../bindings/go
