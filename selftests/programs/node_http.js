// SPDX-License-Identifier: GPL-2.0
//
// node_http.js server ADDRESS PORT [CERT KEY] | client ADDRESS PORT MB [CERT]
// node_http.js echo ADDRESS PORT | net ADDRESS PORT MB
//
// Servers and clients of Node's modules http, https and net. What the clients print does
// not depend on time.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const https = require('https');
const net = require('net');

const [role, address, port, ...rest] = process.argv.slice(2);
const sha = (data) => crypto.createHash('sha256').update(data).digest('hex');
const pattern = (n) => Buffer.alloc(n, crypto.createHash('sha512').update('x').digest());

function answer(req, res) {
	const hash = crypto.createHash('sha256');
	let n = 0;

	req.on('data', (chunk) => { hash.update(chunk); n += chunk.length; });
	req.on('end', () => {
		if (req.method === 'PUT')
			res.end(`${n} ${hash.digest('hex')}`);
		else if (req.url.startsWith('/size/'))
			res.end(pattern(Number(req.url.slice(6))));
		else if (req.url === '/pieces')
			pieces(res, 20);
		else
			res.writeHead(404).end('nothing here');
	});
}

// A body in chunks, one for each turn of the loop
function pieces(res, left) {
	if (!left)
		return res.end('end');
	res.write(`piece ${left}\n`);
	setImmediate(pieces, res, left - 1);
}

function server(cert, key) {
	const s = cert ? https.createServer({
		cert: fs.readFileSync(cert), key: fs.readFileSync(key),
	}, answer) : http.createServer(answer);
	s.listen(Number(port), address);
}

function client(mb, cert) {
	const lib = cert ? https : http;
	const agent = new lib.Agent({ keepAlive: true, maxSockets: 5 });
	const ca = cert && fs.readFileSync(cert);

	const request = (method, path, body) => new Promise((resolve, reject) => {
		const req = lib.request({ host: address, port, method, path, agent, ca }, (res) => {
			const parts = [];

			res.on('data', (part) => parts.push(part));
			res.on('error', reject);
			res.on('end', () => resolve([res.statusCode, Buffer.concat(parts), req.reusedSocket]));
		});
		req.on('error', reject);
		req.end(body);
	});

	return async function () {
		let [status, body, reused] = await request('GET', '/pieces');
		console.log('pieces', status, reused, sha(body));
		[status, body, reused] = await request('GET', '/nothing');
		console.log('nothing', status, reused, body.toString());
		const all = await Promise.all(Array.from({ length: 40 }, (_, i) =>
			request('GET', `/size/${i * 1000}`)));
		console.log('forty at once', all.map(([s, b]) => `${s}:${b.length}`).join(' '));
		[status, body] = await request('GET', `/size/${mb << 20}`);
		console.log('down', status, body.length, sha(body));
		[status, body] = await request('PUT', '/', pattern(mb << 20));
		console.log('up', status, body.toString());
		agent.destroy();
	};
}

function echo() {
	net.createServer({ allowHalfOpen: true }, (s) => {
		s.on('error', () => {});
		s.pipe(s);
	}).listen(Number(port), address);
}

function through(n) {
	return new Promise((resolve, reject) => {
		const s = net.connect({ host: address, port, allowHalfOpen: true });
		const parts = [];

		s.on('error', reject);
		s.on('data', (part) => parts.push(part));
		s.on('end', () => resolve(Buffer.concat(parts)));
		s.setNoDelay(true);
		s.setKeepAlive(true, 1000);
		s.end(pattern(n));
	});
}

async function netClient(mb) {
	console.log('echo', sha(await through(mb << 20)));
	const some = await Promise.all([1, 10, 1000, 65536, 300000].map(through));
	console.log('several', some.map((b) => b.length).join(' '));
	await new Promise((resolve) => net.connect({ host: address, port: 9 })
		.on('error', (e) => resolve(console.log('refused', e.code))));
	await new Promise((resolve) => {
		const s = net.connect({ host: address, port }, () => {
			console.log('from', s.localAddress, s.remoteFamily, s.remoteAddress, s.remotePort);
			s.setTimeout(200, () => { console.log('idle'); s.destroy(); });
			s.on('close', (failed) => resolve(console.log('closed', failed)));
		});
	});
}

const roles = {
	server: () => server(...rest),
	client: () => client(Number(rest[0]), rest[1])(),
	echo: () => echo(),
	net: () => netClient(Number(rest[0])),
};
roles[role]();
