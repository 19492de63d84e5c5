import java.io.File;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.Schema;
import javax.xml.validation.Validator;

/**
 * Xerces with the official UBL schemas. Each line of the file named second is `ROOT BASE64`; the answer is a line
 * `valid` or `invalid MESSAGE` for each, in order. The folder of the main schemas is named first.
 */
public final class Oracle {
  public static void main(String[] arguments) throws Exception {
    Map<String, Validator> validators = new HashMap<>();
    var factory = new org.apache.xerces.jaxp.validation.XMLSchemaFactory();
    StringBuilder answers = new StringBuilder();
    for (String line : Files.readAllLines(Path.of(arguments[1]))) {
      String[] parts = line.split(" ");
      Validator validator = validators.get(parts[0]);
      if (validator == null) {
        Schema schema = factory.newSchema(new File(arguments[0], "UBL-" + parts[0] + "-2.1.xsd"));
        validators.put(parts[0], validator = schema.newValidator());
      }
      String text = new String(Base64.getDecoder().decode(parts[1]), StandardCharsets.UTF_8);
      try {
        validator.validate(new StreamSource(new StringReader(text)));
        answers.append("valid\n");
      } catch (org.xml.sax.SAXException fault) {
        answers.append("invalid ").append(String.valueOf(fault.getMessage()).replaceAll("\\s+", " ")).append('\n');
      }
    }
    System.out.print(answers);
  }
}
