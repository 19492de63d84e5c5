import com.helger.io.resource.inmemory.ReadableResourceByteArray;
import com.helger.phive.api.execute.ValidationExecutionManager;
import com.helger.phive.api.executorset.ValidationExecutorSetRegistry;
import com.helger.phive.api.validity.IValidityDeterminator;
import com.helger.phive.en16931.EN16931Validation;
import com.helger.phive.peppol.PeppolValidation;
import com.helger.phive.peppol.PeppolValidation2025_11;
import com.helger.phive.xml.source.IValidationSourceXML;
import com.helger.phive.xml.source.ValidationSourceXML;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Times phive with its Peppol rules on documents: bytes to DOM, XSD, EN 16931, Peppol BIS. One thread, warmed up on all of them.
 * Arguments: SECONDS FILE…. One line of JSON for each file.
 */
public final class Validate {
  /** Batches shorter than this say more about the clock than about the work. */
  private static final double BATCH_MS = 50;
  private static final int BATCHES_MIN = 5;
  /** Times the seconds of one document. */
  private static final int WARM_UP = 15;

  public static void main(final String[] args) throws Exception {
    final double seconds = Double.parseDouble(args[0]);
    final var registry = new ValidationExecutorSetRegistry<IValidationSourceXML>();
    EN16931Validation.initEN16931(registry);
    PeppolValidation.initStandard(registry);
    final var rules = registry.getOfID(PeppolValidation2025_11.VID_OPENPEPPOL_INVOICE_UBL_V3);
    final IValidityDeterminator<IValidationSourceXML> validity = IValidityDeterminator.createDefault();
    final List<Work> all = new ArrayList<>();
    for (int i = 1; i < args.length; i++) {
      final byte[] bytes = Files.readAllBytes(Path.of(args[i]));
      all.add(() -> ValidationExecutionManager
          .executeValidation(validity, rules, (IValidationSourceXML) ValidationSourceXML.create(new ReadableResourceByteArray(bytes)))
          .containsNoError());
    }
    // The compiler of the JVM takes seconds to settle: the first document must not pay for the others.
    for (final long end = System.nanoTime() + (long) (WARM_UP * seconds * 1e9); System.nanoTime() < end;) for (final Work work : all) work.run();
    for (final Work work : all) {
      final double once = repeat(work, 1);
      final int size = Math.max(1, (int) Math.ceil(BATCH_MS / once));
      final List<Double> batches = new ArrayList<>();
      for (final long end = System.nanoTime() + (long) (2 * seconds * 1e9); batches.size() < BATCHES_MIN || System.nanoTime() < end;) batches.add(repeat(work, size));
      Collections.sort(batches);
      System.out.printf(java.util.Locale.ROOT, "{\"valid\":%b,\"median_ms\":%.4f,\"batches\":%d}%n", work.run(), batches.get(batches.size() / 2), batches.size());
    }
  }

  private interface Work { boolean run() throws Exception; }

  /** Milliseconds of one run, over a batch. */
  private static double repeat(final Work work, final int size) throws Exception {
    final long start = System.nanoTime();
    for (int n = 0; n < size; n++) work.run();
    return (System.nanoTime() - start) / 1e6 / size;
  }
}
