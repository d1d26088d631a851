module gossamer

go 1.19
