import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.xml.transform.ErrorListener;
import javax.xml.transform.Source;
import javax.xml.transform.TransformerException;
import javax.xml.transform.stream.StreamSource;
import net.sf.saxon.s9api.Axis;
import net.sf.saxon.s9api.Processor;
import net.sf.saxon.s9api.QName;
import net.sf.saxon.s9api.SaxonApiException;
import net.sf.saxon.s9api.XdmDestination;
import net.sf.saxon.s9api.XdmNode;
import net.sf.saxon.s9api.XdmNodeKind;
import net.sf.saxon.s9api.XsltCompiler;
import net.sf.saxon.s9api.XsltExecutable;
import net.sf.saxon.s9api.XsltTransformer;

/**
 * Judges documents by rules as published. Arguments: a stylesheet (.xslt) or a schema (.sch), and a file with one
 * document a line in base64. Answers one line a document: "id flag" of each failed assert and successful report,
 * separated by semicolons, or "!CODE" when the transformation ends in an error.
 */
public final class Oracle {
  private static final String SVRL = "http://purl.oclc.org/dsdl/svrl";
  private static final Processor PROCESSOR = new Processor(false);

  public static void main(String[] args) throws Exception {
    XsltExecutable rules = args[0].endsWith(".sch") ? compiled(new File(args[0])) : stylesheet(new StreamSource(new File(args[0])));
    for (String line : Files.readAllLines(Path.of(args[1]))) System.out.println(judge(rules, Base64.getDecoder().decode(line)));
  }

  private static XsltExecutable stylesheet(Source source) throws SaxonApiException {
    XsltCompiler compiler = PROCESSOR.newXsltCompiler();
    compiler.setErrorList(new ArrayList<>());
    return compiler.compile(source);
  }

  /** The three steps of SchXslt: inclusion, expansion, compilation. */
  private static XsltExecutable compiled(File schema) throws Exception {
    XdmNode current = PROCESSOR.newDocumentBuilder().build(schema);
    for (String step : List.of("include", "expand", "compile-for-svrl")) {
      String name = "/xslt/2.0/" + step + ".xsl";
      StreamSource source = new StreamSource(Oracle.class.getResourceAsStream(name), Oracle.class.getResource(name).toString());
      XsltTransformer transformer = stylesheet(source).load();
      transformer.setInitialContextNode(current);
      XdmDestination result = new XdmDestination();
      result.setBaseURI(schema.toURI());
      transformer.setDestination(result);
      transformer.transform();
      current = result.getXdmNode();
    }
    return stylesheet(current.asSource());
  }

  private static String judge(XsltExecutable rules, byte[] document) {
    try {
      XsltTransformer transformer = rules.load();
      transformer.setErrorListener(new Silent());
      transformer.setInitialContextNode(
          PROCESSOR.newDocumentBuilder().build(new StreamSource(new ByteArrayInputStream(document))));
      XdmDestination result = new XdmDestination();
      transformer.setDestination(result);
      transformer.transform();
      List<String> entries = new ArrayList<>();
      result.getXdmNode().axisIterator(Axis.DESCENDANT).forEachRemaining(node -> note((XdmNode) node, entries));
      return String.join(";", entries);
    } catch (SaxonApiException error) {
      return "!" + (error.getErrorCode() == null ? "" : error.getErrorCode().getLocalName());
    }
  }

  private static void note(XdmNode node, List<String> entries) {
    if (node.getNodeKind() != XdmNodeKind.ELEMENT || !SVRL.equals(node.getNodeName().getNamespace())) return;
    String name = node.getNodeName().getLocalName();
    if (!name.equals("failed-assert") && !name.equals("successful-report")) return;
    String flag = node.getAttributeValue(new QName("flag"));
    String role = node.getAttributeValue(new QName("role"));
    String id = node.getAttributeValue(new QName("id"));
    entries.add((id == null ? "?" : id) + " " + (flag != null ? flag : role != null ? role : "error"));
  }

  @SuppressWarnings("deprecation")
  private static final class Silent implements ErrorListener {
    public void warning(TransformerException e) {}
    public void error(TransformerException e) {}
    public void fatalError(TransformerException e) throws TransformerException {
      throw e;
    }
  }
}
