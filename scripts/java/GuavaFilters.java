package com.google.common.hash; // where the choice of a strategy is visible

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * Filters of Guava, for scripts/check-guava: {@code write FILE FUNNEL STRATEGY KEYS RATE} makes one
 * of the keys on standard input, one a line; {@code ask FILE FUNNEL} says 1 or 0 of each of them.
 */
public final class GuavaFilters {
  public static void main(String[] args) throws Exception {
    switch (args[2]) {
      case "long" -> run(args, Funnels.longFunnel(), Long::valueOf);
      case "int" -> run(args, Funnels.integerFunnel(), Integer::valueOf);
      case "string" -> run(args, Funnels.stringFunnel(StandardCharsets.UTF_8), key -> key);
      case "chars" -> run(args, Funnels.unencodedCharsFunnel(), key -> key);
      case "bytes" ->
          run(args, Funnels.byteArrayFunnel(), key -> key.getBytes(StandardCharsets.UTF_8));
      default -> throw new IllegalArgumentException(args[2]);
    }
  }

  private static <T> void run(String[] args, Funnel<? super T> funnel, Function<String, T> parse)
      throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    if (args[0].equals("write")) {
      var strategy = BloomFilterStrategies.values()[Integer.parseInt(args[3])];
      long keys = Long.parseLong(args[4]);
      BloomFilter<T> filter =
          BloomFilter.create(funnel, keys, Double.parseDouble(args[5]), strategy);
      input.lines().map(parse).forEach(filter::put);
      try (var file = new FileOutputStream(args[1])) {
        filter.writeTo(file);
      }
    } else {
      try (var file = new FileInputStream(args[1])) {
        BloomFilter<T> filter = BloomFilter.readFrom(file, funnel);
        var answers = new StringBuilder();
        input.lines().map(parse).forEach(key -> answers.append(filter.mightContain(key) ? "1\n" : "0\n"));
        System.out.print(answers);
      }
    }
  }
}
