package main

import (
	"crypto"
	"crypto/rsa"
	"io"
	"sync/atomic"
)

// signatures counts those of all listeners: they are most of what a scan costs a server.
var signatures atomic.Int64

type rsaKey struct{ *rsa.PrivateKey } // decrypts too, for suites without forward secrecy

func (k rsaKey) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	signatures.Add(1)
	return k.PrivateKey.Sign(random, digest, options)
}

type otherKey struct{ crypto.Signer }

func (k otherKey) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	signatures.Add(1)
	return k.Signer.Sign(random, digest, options)
}

func counted(key crypto.PrivateKey) crypto.PrivateKey {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return rsaKey{key}
	case crypto.Signer:
		return otherKey{key}
	}
	return key
}
