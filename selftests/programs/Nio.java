// SPDX-License-Identifier: GPL-2.0
//
// Nio server|client|web|fetch ADDRESS PORT [KB]: see java.sh. What the clients
// print does not depend on time.
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;

class Nio {
	static final int CHANNELS = 16;

	static byte[] data(int seed, int len) {
		byte[] bytes = new byte[len];
		new Random(seed).nextBytes(bytes);
		return bytes;
	}

	static String digest(byte[] bytes) throws Exception {
		return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
	}

	/** Everything comes back; half closed by the client, closed by us. */
	static void server(InetSocketAddress address) throws IOException {
		Selector selector = Selector.open();
		ServerSocketChannel listener = ServerSocketChannel.open();
		listener.bind(address, 64).configureBlocking(false);
		listener.register(selector, SelectionKey.OP_ACCEPT);
		for (;;) {
			selector.select();
			for (SelectionKey key : selector.selectedKeys()) {
				if (key.isAcceptable()) {
					SocketChannel c = listener.accept();
					c.configureBlocking(false);
					c.register(selector, SelectionKey.OP_READ, ByteBuffer.allocateDirect(20000));
				} else {
					echo(key);
				}
			}
			selector.selectedKeys().clear();
		}
	}

	static void echo(SelectionKey key) throws IOException {
		SocketChannel c = (SocketChannel) key.channel();
		ByteBuffer buffer = (ByteBuffer) key.attachment();
		if (key.isReadable() && c.read(buffer) < 0) {
			c.close();
			return;
		}
		buffer.flip();
		c.write(buffer);
		boolean all = !buffer.hasRemaining();
		buffer.compact();
		key.interestOps(all ? SelectionKey.OP_READ : SelectionKey.OP_WRITE);
	}

	/** One channel of the client: what it sends, and what came of it. */
	static class Exchange {
		final ByteBuffer out, in;

		Exchange(byte[] data) {
			out = ByteBuffer.wrap(data);
			in = ByteBuffer.allocate(data.length + 1);
		}
	}

	static void channels(InetSocketAddress address, int kb) throws Exception {
		Selector selector = Selector.open();
		List<Exchange> all = new ArrayList<>();
		for (int i = 0; i < CHANNELS; i++) {
			SocketChannel c = SocketChannel.open();
			c.setOption(StandardSocketOptions.TCP_NODELAY, i % 2 == 0);
			c.configureBlocking(false);
			c.connect(address);
			all.add(new Exchange(data(i, kb << 10)));
			c.register(selector, SelectionKey.OP_CONNECT, all.get(i));
		}
		for (int open = CHANNELS; open > 0; selector.selectedKeys().clear()) {
			selector.select();
			for (SelectionKey key : selector.selectedKeys())
				open -= step(key) ? 0 : 1;
		}
		for (Exchange e : all)
			System.out.println("channel " + e.in.position() + " " +
				java.util.Arrays.equals(e.out.array(), 0, e.out.capacity(),
							e.in.array(), 0, e.in.position()));
	}

	static boolean step(SelectionKey key) throws IOException {
		SocketChannel c = (SocketChannel) key.channel();
		Exchange e = (Exchange) key.attachment();
		if (key.isConnectable()) {
			c.finishConnect();
			key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
			return true;
		}
		if (key.isWritable()) {
			c.write(e.out);
			if (!e.out.hasRemaining()) {
				c.shutdownOutput();
				key.interestOps(SelectionKey.OP_READ);
			}
		}
		if (key.isReadable() && c.read(e.in) < 0) {
			c.close();
			return false;
		}
		return true;
	}

	static void blocking(InetSocketAddress address) throws Exception {
		try (Socket s = new Socket()) {
			s.setTcpNoDelay(true);
			s.setKeepAlive(true);
			s.connect(address, 20000);
			System.out.println("to " + s.getRemoteSocketAddress() + " from " + s.getLocalAddress());
			s.getOutputStream().write("hello".getBytes());
			System.out.println(new String(s.getInputStream().readNBytes(5)));
			s.setSoTimeout(200);
			s.getInputStream().read();
		} catch (SocketTimeoutException e) {
			System.out.println(e.getMessage());
		}
		try (Socket s = new Socket(address.getAddress(), 9)) {
			System.out.println("connected to nobody");
		} catch (ConnectException e) {
			System.out.println(e.getMessage());
		}
	}

	static void web(InetSocketAddress address) throws IOException {
		HttpServer s = HttpServer.create(address, 64);
		s.setExecutor(Executors.newFixedThreadPool(4));
		s.createContext("/", (exchange) -> {
			byte[] body = exchange.getRequestBody().readAllBytes();
			if (exchange.getRequestMethod().equals("GET"))
				body = data(7, Integer.parseInt(exchange.getRequestURI().getPath().substring(1)));
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		s.start();
	}

	static void fetch(String address, int port, int kb) throws Exception {
		HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
		String base = "http://" + address + ":" + port + "/";
		List<CompletableFuture<HttpResponse<byte[]>>> all = new ArrayList<>();
		for (int i = 1; i <= 20; i++)
			all.add(client.sendAsync(HttpRequest.newBuilder(URI.create(base + i * 1000)).build(),
						 HttpResponse.BodyHandlers.ofByteArray()));
		for (var f : all)
			System.out.println("get " + f.get().statusCode() + " " + f.get().body().length);
		byte[] body = data(1, kb << 10);
		for (int i = 0; i < 3; i++) {
			var r = client.send(HttpRequest.newBuilder(URI.create(base))
					    .PUT(HttpRequest.BodyPublishers.ofByteArray(body)).build(),
					    HttpResponse.BodyHandlers.ofByteArray());
			System.out.println("put " + r.statusCode() + " " + digest(r.body()).equals(digest(body)));
		}
	}

	public static void main(String[] args) throws Exception {
		int port = Integer.parseInt(args[2]);
		var address = new InetSocketAddress(InetAddress.getByName(args[1]), port);
		switch (args[0]) {
		case "server" -> server(address);
		case "web" -> web(address);
		case "fetch" -> fetch(args[1], port, Integer.parseInt(args[3]));
		default -> {
			channels(address, Integer.parseInt(args[3]));
			blocking(address);
		}
		}
	}
}
