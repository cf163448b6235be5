// SPDX-License-Identifier: GPL-2.0

// Go's net package, which calls the kernel itself: echoes, deadlines, half
// close, files and connections that the kernel copies, HTTP. "server ADDR" until
// it is killed, "client ADDR SERVER KB" says what a user would see.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	echoPort = 7711 + iota
	sinkPort
	proxyPort
	webPort
	refusedPort
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func data(n int, seed int64) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func at(addr string, port int) string {
	return net.JoinHostPort(addr, fmt.Sprint(port))
}

func listen(addr string, port int, serve func(*net.TCPConn)) {
	l, err := net.Listen("tcp", at(addr, port))
	check(err)
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			go func() {
				serve(c.(*net.TCPConn))
				c.Close()
			}()
		}
	}()
}

// What a reader gets until the end, as a digest
func sink(c *net.TCPConn) {
	h := sha256.New()
	n, err := io.Copy(h, c)
	fmt.Fprintf(c, "%d %x %v\n", n, h.Sum(nil), err)
}

// Both ways between two connections, which io.Copy leaves to splice(2)
func proxy(addr string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		d, err := net.Dial("tcp", at(addr, sinkPort))
		if err != nil {
			return
		}
		defer d.Close()
		go func() {
			io.Copy(d, c)
			d.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(c, d)
	}
}

func server(addr string) {
	listen(addr, echoPort, func(c *net.TCPConn) { io.Copy(c, c) })
	listen(addr, sinkPort, sink)
	listen(addr, proxyPort, proxy(addr))
	http.HandleFunc("/size", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", n, err)
	})
	http.HandleFunc("/data", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "data", time.Time{},
			bytes.NewReader(data(1<<20, 5)))
	})
	check(http.ListenAndServe(at(addr, webPort), nil))
}

func dial(addr string, port int) *net.TCPConn {
	c, err := net.DialTimeout("tcp", at(addr, port), time.Minute)
	check(err)
	return c.(*net.TCPConn)
}

func addresses(c net.Conn, client, server string) {
	l, r := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
	fmt.Println("addresses", l.IP, l.Port > 0, r.IP, r.Port)
	if l.IP.String() != client || r.IP.String() != server {
		fmt.Println("wrong addresses")
	}
}

// Many connections at once, each with messages of all sizes
func echoes(addr string, kb int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var good []int
	for i := 0; i < 16; i++ {
		i := i
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := dial(addr, echoPort)
			defer c.Close()
			check(c.SetNoDelay(i%2 == 0))
			for n := 1; n <= kb<<6; n *= 3 {
				out, in := data(n, int64(i)), make([]byte, n)
				go c.Write(out)
				_, err := io.ReadFull(c, in)
				check(err)
				if !bytes.Equal(in, out) {
					fmt.Println("echo", i, n, "differs")
				}
			}
			mu.Lock()
			good = append(good, i)
			mu.Unlock()
		}()
	}
	wg.Wait()
	sort.Ints(good)
	fmt.Println("echoes", good)
}

func deadlines(addr string) {
	c := dial(addr, echoPort)
	b := make([]byte, 1)
	check(c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)))
	_, err := c.Read(b)
	fmt.Println("read in vain:", errors.Is(err, os.ErrDeadlineExceeded))
	check(c.SetReadDeadline(time.Time{}))
	_, err = c.Write([]byte("x"))
	check(err)
	_, err = c.Read(b)
	fmt.Println("after it:", string(b), err)
	go func() {
		time.Sleep(50 * time.Millisecond)
		c.Close()
	}()
	_, err = c.Read(b)
	fmt.Println("closed meanwhile:", errors.Is(err, net.ErrClosed))
	_, err = net.DialTimeout("tcp", at(addr, refusedPort), time.Minute)
	fmt.Println("refused:", errors.Is(err, syscall.ECONNREFUSED))
}

// The end of what we send is seen, and the answer comes after it
func halves(addr string, port int, name string, from io.Reader) {
	c := dial(addr, port)
	n, err := io.Copy(c, from)
	check(err)
	check(c.CloseWrite())
	answer, err := io.ReadAll(c)
	fmt.Println(name, n, strings.TrimSpace(string(answer)), err)
	c.Close()
}

func reset(addr string) {
	c := dial(addr, echoPort)
	_, err := c.Write([]byte("never read"))
	check(err)
	check(c.SetLinger(0))
	fmt.Println("aborted:", c.Close())
}

func web(addr string, kb int) {
	url := "http://" + at(addr, webPort)
	for i := 0; i < 20; i++ {
		r, err := http.Get(url + "/data")
		check(err)
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if i == 0 {
			fmt.Println("get", r.Status, len(body), sum(body), err)
		} else if err != nil || sum(body) != sum(data(1<<20, 5)) {
			fmt.Println("get", i, "differs", err)
		}
		if kb < 64 && i == 3 {
			break
		}
	}
	q, _ := http.NewRequest("GET", url+"/data", nil)
	q.Header.Set("Range", "bytes=1000-1999")
	r, err := http.DefaultClient.Do(q)
	check(err)
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	fmt.Println("range", r.Status, sum(body), err)
	r, err = http.Post(url+"/size", "application/byte-stream",
		bytes.NewReader(data(kb<<12, 6)))
	check(err)
	body, err = io.ReadAll(r.Body)
	r.Body.Close()
	fmt.Println("post", r.Status, string(body), err)
}

func client(addr, peer string, kb int) {
	c := dial(peer, echoPort)
	addresses(c, addr, peer)
	c.Close()
	echoes(peer, kb)
	deadlines(peer)
	halves(peer, sinkPort, "write", bytes.NewReader(data(kb<<12, 1)))
	halves(peer, proxyPort, "proxy", bytes.NewReader(data(kb<<12, 2)))
	f, err := os.CreateTemp("", "gonet")
	check(err)
	os.Remove(f.Name())
	f.Write(data(kb<<12, 3))
	f.Seek(0, 0)
	halves(peer, sinkPort, "sendfile", f)
	reset(peer)
	web(peer, kb)
}

func main() {
	kb := 0
	if len(os.Args) == 3 && os.Args[1] == "server" {
		server(os.Args[2])
	} else if len(os.Args) == 5 && os.Args[1] == "client" {
		fmt.Sscan(os.Args[4], &kb)
		client(os.Args[2], os.Args[3], kb)
	} else {
		os.Exit(2)
	}
}
