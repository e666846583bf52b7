// A TLS server with as many listeners as its configuration file says, for the conformance tests and the benchmark.
//
//	goserver -list                  prints the cipher suites that this build of crypto/tls has, as JSON
//	goserver -listeners FILE        serves; prints one JSON line with the bound addresses when it is ready
//
// On standard input it takes "counts" (answers with accepted connections by listener, and the signatures made and CPU
// time used so far) and ends when the input does, so that it never outlives whoever started it.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

type listener struct {
	Address     string             `json:"address"`
	Certificate string             `json:"certificate"`
	Key         string             `json:"key"`
	Min         uint16             `json:"min"`
	Max         uint16             `json:"max"`
	Suites      []uint16           `json:"suites"`
	Curves      []tls.CurveID      `json:"curves"`
	ClientAuth  tls.ClientAuthType `json:"client_auth"`
	Stub        bool               `json:"stub"`
	Statuses    map[string]int     `json:"statuses"`
	Strict      bool               `json:"strict"`

	bound    net.Listener
	config   *tls.Config
	accepted atomic.Int64
}

// patience bounds every connection: a client that says nothing must not keep a goroutine for ever.
const patience = 10 * time.Second

func main() {
	list := flag.Bool("list", false, "print the cipher suites and end")
	file := flag.String("listeners", "", "JSON file with the listeners")
	flag.Parse()
	log.SetFlags(0)
	if *list {
		printSuites()
		return
	}
	listeners := read(*file)
	addresses := make([]string, 0, len(listeners))
	for _, one := range listeners {
		one.open()
		addresses = append(addresses, one.bound.Addr().String())
		go one.serve()
	}
	answer(map[string]any{"addresses": addresses})
	commands(listeners)
}

func printSuites() {
	type row struct {
		ID       uint16   `json:"id"`
		Name     string   `json:"name"`
		Versions []uint16 `json:"versions"`
	}
	rows := []row{}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		rows = append(rows, row{suite.ID, suite.Name, suite.SupportedVersions})
	}
	answer(rows)
}

func read(file string) []*listener {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var listeners []*listener
	if err := json.Unmarshal(text, &listeners); err != nil {
		log.Fatalf("%s: %v", file, err)
	}
	return listeners
}

func (l *listener) open() {
	bound, err := net.Listen("tcp4", l.Address)
	if err != nil {
		log.Fatal(err)
	}
	l.bound = bound
	if l.Stub {
		return
	}
	pair, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
	if err != nil {
		log.Fatal(err)
	}
	pair.PrivateKey = counted(pair.PrivateKey)
	l.config = &tls.Config{
		Certificates:     []tls.Certificate{pair},
		MinVersion:       l.Min,
		MaxVersion:       l.Max,
		CipherSuites:     l.Suites,
		CurvePreferences: l.Curves,
		ClientAuth:       l.ClientAuth,
	}
}

func (l *listener) serve() {
	if l.Statuses != nil {
		log.Fatal(l.content().ServeTLS(l.bound, "", ""))
	}
	for {
		conn, err := l.bound.Accept()
		if err != nil {
			log.Fatal(err)
		}
		l.accepted.Add(1)
		if l.Stub {
			go stub(conn)
		} else {
			go l.converse(conn)
		}
	}
}

func (l *listener) converse(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	session := tls.Server(conn, l.config)
	if session.Handshake() != nil {
		return
	}
	buffer := make([]byte, 1024)
	for {
		if _, err := session.Read(buffer); err != nil {
			return
		}
	}
}

func commands(listeners []*listener) {
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if input.Text() != "counts" {
			log.Fatalf("unknown command %q", input.Text())
		}
		counts := make([]int64, 0, len(listeners))
		for _, one := range listeners {
			counts = append(counts, one.accepted.Load())
		}
		answer(map[string]any{"counts": counts, "signatures": signatures.Load(), "cpu": cpu()})
	}
}

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func answer(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}
