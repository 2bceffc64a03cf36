// Package main is a small server.
package main

import "handbook/serve"

var ports = map[string]int{"http": 8080, "admin": 8081}

func main() {
	// Serve until it is stopped; `\n` ends each line of the log.
	serve.Listen(ports["http"], "C:\\logs\\server.txt")
}
