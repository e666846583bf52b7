// A kubelet of which there is only port-forward, by the kubelet's own code. What a container runtime would do, connect
// to the port in the pod's network namespace, is a table: PORT=ADDRESS. It ends when its standard input does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

type ports map[int32]string

func (table ports) PortForward(_ context.Context, name, uid string, port int32, stream io.ReadWriteCloser) error {
	address, known := table[port]
	if !known {
		return fmt.Errorf("dial tcp4 127.0.0.1:%d: connect: connection refused", port)
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		io.Copy(connection, stream)
		connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}

func main() {
	address := flag.String("address", "", "where to listen")
	certificate := flag.String("certificate", "", "PEM")
	key := flag.String("key", "", "PEM")
	flag.Parse()
	table := ports{}
	for _, argument := range flag.Args() {
		number, target, _ := strings.Cut(argument, "=")
		port, _ := strconv.ParseInt(number, 10, 32)
		table[int32(port)] = target
	}
	http.HandleFunc("/portForward/{namespace}/{pod}", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Println(request.Method, request.URL.Path, request.Header.Get("Upgrade"))
		options, err := portforward.NewV4Options(request)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(answer, request, table, request.PathValue("pod"), "", options,
			time.Minute, 10*time.Second, portforward.SupportedProtocols)
	})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS(*address, *certificate, *key, nil))
	os.Exit(1)
}
