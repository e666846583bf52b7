package main

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// The stub answers a ClientHello at once and computes nothing, so that what remains is the client's own cost. It looks
// like a strict server: a HelloRetryRequest in TLS 1.3, one ECDHE suite with an empty certificate list and an unsigned
// key exchange in TLS 1.2, and an alert for everything else. No handshake with it can complete.

const (
	suite13  = 0x1301 // TLS_AES_128_GCM_SHA256
	suite12  = 0xC02F // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	group    = 0x001D // x25519
	pastSize = 16 << 10
)

// retryRandom is the value of ServerHello.random that makes it a HelloRetryRequest (RFC 8446, section 4.1.3).
var retryRandom = []byte{
	0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
	0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
}

func stub(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	header := make([]byte, 5)
	if _, err := io.ReadFull(conn, header); err != nil {
		return
	}
	size := int(binary.BigEndian.Uint16(header[3:]))
	if size > pastSize {
		return
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		return
	}
	if _, err := conn.Write(reply(body)); err != nil {
		return
	}
	if _, err := conn.Read(header); err == nil {
		_, _ = conn.Write(refusal) // whoever wants to go on with a handshake is told that it ends here
	}
}

var (
	refusal    = []byte{21, 3, 3, 0, 2, 2, 40} // alert: fatal, handshake_failure
	oldVersion = []byte{21, 3, 3, 0, 2, 2, 70} // alert: fatal, protocol_version
)

// reply reads just enough of a well-formed ClientHello (RFC 8446, section 4.1.2); anything else is refused.
func reply(message []byte) []byte {
	defer func() { _ = recover() }() // a short message runs past the end of a slice: say nothing
	hello := message[4:]
	version, hello := binary.BigEndian.Uint16(hello), hello[34:]
	session, hello := hello[1:1+int(hello[0])], hello[1+int(hello[0]):]
	length := int(binary.BigEndian.Uint16(hello))
	suites, hello := hello[2:2+length], hello[2+length:]
	hello = hello[1+int(hello[0]):]
	extensions := map[uint16][]byte{}
	if len(hello) > 2 {
		for rest := hello[2:]; len(rest) >= 4; {
			size := int(binary.BigEndian.Uint16(rest[2:]))
			extensions[binary.BigEndian.Uint16(rest)] = rest[4 : 4+size]
			rest = rest[4+size:]
		}
	}
	if versions, there := extensions[43]; there && holds(versions[1:], 0x0304) {
		if !holds(suites, suite13) || !holds(extensions[10][2:], group) {
			return refusal
		}
		return record(handshake(2, serverHello(retryRandom, session, suite13, []byte{0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, group})))
	}
	if version < 0x0303 {
		return oldVersion
	}
	if !holds(suites, suite12) {
		return refusal
	}
	exchange := append([]byte{3, 0, group, 32}, make([]byte, 32)...)
	exchange = append(append(exchange, 8, 4, 1, 0), make([]byte, 256)...)
	flight := handshake(2, serverHello(make([]byte, 32), nil, suite12, []byte{0xFF, 1, 0, 1, 0}))
	flight = append(flight, handshake(11, []byte{0, 0, 0})...)
	flight = append(flight, handshake(12, exchange)...)
	return record(append(flight, handshake(14, nil)...))
}

func holds(list []byte, wanted uint16) bool {
	for ; len(list) >= 2; list = list[2:] {
		if binary.BigEndian.Uint16(list) == wanted {
			return true
		}
	}
	return false
}

func serverHello(random, session []byte, suite uint16, extensions []byte) []byte {
	body := append([]byte{3, 3}, random...)
	body = append(append(body, byte(len(session))), session...)
	body = append(body, byte(suite>>8), byte(suite), 0, byte(len(extensions)>>8), byte(len(extensions)))
	return append(body, extensions...)
}

func handshake(kind byte, body []byte) []byte {
	return append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

func record(body []byte) []byte {
	return append([]byte{22, 3, 3, byte(len(body) >> 8), byte(len(body))}, body...)
}
