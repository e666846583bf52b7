module goserver

// Decides which of crypto/tls's defaults apply (GODEBUG): the hybrid groups on P-256 and P-384 came with 1.26.
go 1.26
