// SPDX-License-Identifier: GPL-2.0
//
// SparkJob RECORDS SIZE: a job of Apache Spark, submitted to a cluster that spark.master
// names. Each of four partitions has so many records of so many bytes, which are sorted
// and grouped; then a broadcast is read, and an error of a task comes back. Prints results.
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

public class SparkJob {
	private static final int PARTS = 4;

	private static List<Tuple2<Integer, byte[]>> records(int part, int count, int size) {
		List<Tuple2<Integer, byte[]>> list = new ArrayList<>();
		Random random = new Random(part);

		for (int i = 0; i < count; i++) {
			byte[] data = new byte[size];

			random.nextBytes(data);
			list.add(new Tuple2<>(random.nextInt(), data));
		}
		return list;
	}

	private static long hash(byte[] data) {
		long h = 0xcbf29ce484222325L;

		for (byte b : data)
			h = (h ^ (b & 0xff)) * 0x100000001b3L;
		return h;
	}

	public static void main(String[] args) {
		int count = Integer.parseInt(args[0]), size = Integer.parseInt(args[1]);

		try (JavaSparkContext sc = new JavaSparkContext(new SparkConf())) {
			byte[] key = new byte[1 << 20];
			List<Integer> parts = new ArrayList<>();

			new Random(99).nextBytes(key);
			for (int i = 0; i < PARTS; i++)
				parts.add(i);
			Broadcast<byte[]> all = sc.broadcast(key);
			JavaPairRDD<Integer, byte[]> data = sc.parallelize(parts, PARTS)
				.flatMapToPair(p -> records(p, count, size).iterator());
			List<Tuple2<Integer, Long>> sorted = data.sortByKey(true, PARTS)
				.mapValues(SparkJob::hash).collect();
			long sum = 0;

			for (Tuple2<Integer, Long> t : sorted)
				sum = sum * 31 + t._1() + t._2();
			System.out.println("sorted: " + sorted.size() + " records, " + Long.toHexString(sum));
			System.out.println("grouped: " + data
				.mapToPair(t -> new Tuple2<>(t._1() & 7, (long)t._2().length))
				.reduceByKey(Long::sum).sortByKey().collect());
			System.out.println("broadcast: " + sc.parallelize(parts, PARTS)
				.map(p -> Long.toHexString(hash(all.value()) + p)).collect());
			try {
				sc.parallelize(parts, PARTS).map(p -> 1 / (p - p)).collect();
			} catch (Exception e) {
				String text = String.valueOf(e.getMessage());

				System.out.println("error: " + (text.contains("ArithmeticException") ?
								"ArithmeticException" : text));
			}
		}
	}
}
