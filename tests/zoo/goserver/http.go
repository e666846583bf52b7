package main

import (
	"net/http"
)

// content answers in HTTP/1.1 and HTTP/2 with a status for each host. A strict listener answers 421 to requests for
// another host than the one that the connection was made for (RFC 9110, section 15.5.20).
func (l *listener) content() *http.Server {
	handler := func(writer http.ResponseWriter, request *http.Request) {
		status, known := l.Statuses[request.Host]
		switch {
		case l.Strict && request.TLS.ServerName != request.Host:
			status = http.StatusMisdirectedRequest
		case !known:
			status = http.StatusNotFound
		}
		writer.WriteHeader(status)
	}
	return &http.Server{Handler: http.HandlerFunc(handler), TLSConfig: l.config, ReadTimeout: patience}
}
