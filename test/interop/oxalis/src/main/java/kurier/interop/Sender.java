package kurier.interop;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.UnaryOperator;

import com.google.inject.Injector;
import com.google.inject.Key;
import com.google.inject.name.Names;

import network.oxalis.api.lang.OxalisTransmissionException;
import network.oxalis.api.lookup.LookupService;
import network.oxalis.api.outbound.MessageSender;
import network.oxalis.api.outbound.TransmissionRequest;
import network.oxalis.api.outbound.TransmissionResponse;
import network.oxalis.as4.common.As4MessageProperties;
import network.oxalis.as4.lang.OxalisAs4TransmissionException;
import network.oxalis.as4.outbound.As4TransmissionRequest;
import network.oxalis.outbound.transformer.XmlContentWrapper;
import network.oxalis.vefa.peppol.common.model.C1CountryIdentifier;
import network.oxalis.vefa.peppol.common.model.DocumentTypeIdentifier;
import network.oxalis.vefa.peppol.common.model.Endpoint;
import network.oxalis.vefa.peppol.common.model.Header;
import network.oxalis.vefa.peppol.common.model.InstanceIdentifier;
import network.oxalis.vefa.peppol.common.model.InstanceType;
import network.oxalis.vefa.peppol.common.model.ParticipantIdentifier;
import network.oxalis.vefa.peppol.common.model.ProcessIdentifier;
import network.oxalis.vefa.peppol.common.model.TransportProfile;

/**
 * C2: one message through the AS4 sender of Oxalis. Parameters: sender, receiver, folder (for the standard business
 * document); url and certificate (base64 of the recipient's DER), without which Oxalis looks the receiver up; and
 * optionally doctype, messageId, with it ping (the test service), sbdhSender and sbdhReceiver (where they differ from the
 * header's), resend (file of a document sent before, instead of the body).
 */
final class Sender
{
  private static final String INVOICE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1";
  private static final String BILLING = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0";
  private final MessageSender oxalis;
  private final LookupService lookup;

  Sender (final Injector injector)
  {
    lookup = injector.getInstance (LookupService.class);
    oxalis = injector.getInstance (Key.get (MessageSender.class, Names.named ("oxalis-as4")));
  }

  Map <String, Object> send (final UnaryOperator <String> parameters, final byte [] payload) throws Exception
  {
    final Header outer = header (parameters, parameters.apply ("sender"), parameters.apply ("receiver"));
    final Header inner = header (parameters, or (parameters, "sbdhSender", "sender"), or (parameters, "sbdhReceiver", "receiver"));
    final String again = parameters.apply ("resend");
    final byte [] document = again != null ? Files.readAllBytes (Path.of (again)) : new XmlContentWrapper ().wrap (new ByteArrayInputStream (payload), inner).readAllBytes ();
    final Path file = Path.of (parameters.apply ("folder"), "sent-" + inner.getIdentifier ().getIdentifier () + ".xml");
    Files.write (file, document);

    final String url = parameters.apply ("url");
    final Endpoint endpoint = url == null ? lookup.lookup (outer) : Endpoint.of (TransportProfile.PEPPOL_AS4_2_0, URI.create (url), certificate (parameters.apply ("certificate")));
    final String messageId = parameters.apply ("messageId");
    final TransmissionRequest request = messageId == null ? new Plain (endpoint, outer, document) : new Named (endpoint, outer, document, messageId, parameters.apply ("ping") != null);
    final Map <String, Object> answer = new TreeMap <> ();
    answer.put ("file", file.toString ());
    try
    {
      final TransmissionResponse response = oxalis.send (request);
      answer.put ("result", "SUCCESS");
      answer.put ("messageId", response.getTransmissionIdentifier ().getIdentifier ());
    }
    catch (final OxalisTransmissionException ex)
    {
      failed (answer, ex);
    }
    return answer;
  }

  /** The innermost exception of Oxalis that has a code is what the receiver said; without one it never understood an answer. */
  private static void failed (final Map <String, Object> answer, final Throwable thrown)
  {
    final List <String> said = new ArrayList <> ();
    answer.put ("result", "FAILED");
    for (Throwable at = thrown; at != null; at = at.getCause ())
    {
      said.add (at.getClass ().getSimpleName () + ": " + at.getMessage ());
      if (at instanceof OxalisAs4TransmissionException && at.getCause () == null)
      {
        answer.put ("result", "ERROR_RECEIVED");
        answer.put ("code", String.valueOf (((OxalisAs4TransmissionException) at).getErrorCode ()));
        answer.put ("detail", String.valueOf (at.getMessage ()));
      }
    }
    answer.put ("exceptions", said);
  }

  private static Header header (final UnaryOperator <String> parameters, final String sender, final String receiver)
  {
    return Header.newInstance ()
                 .sender (ParticipantIdentifier.of (sender))
                 .receiver (ParticipantIdentifier.of (receiver))
                 .documentType (DocumentTypeIdentifier.of (Optional.ofNullable (parameters.apply ("doctype")).orElse (INVOICE)))
                 .process (ProcessIdentifier.of (BILLING))
                 .c1CountryIdentifier (C1CountryIdentifier.of ("SK"))
                 .identifier (InstanceIdentifier.of (UUID.randomUUID ().toString ()))
                 .instanceType (InstanceType.of ("urn:oasis:names:specification:ubl:schema:xsd:Invoice-2", "Invoice", "2.1"))
                 .creationTimestamp (new Date ());
  }

  private static String or (final UnaryOperator <String> parameters, final String first, final String second)
  {
    return Optional.ofNullable (parameters.apply (first)).orElseGet ( () -> parameters.apply (second));
  }

  private static X509Certificate certificate (final String base64) throws Exception
  {
    return (X509Certificate) CertificateFactory.getInstance ("X.509").generateCertificate (new ByteArrayInputStream (Base64.getDecoder ().decode (base64)));
  }

  /** What every caller of Oxalis hands over; Oxalis names the message. */
  private static class Plain implements TransmissionRequest
  {
    private final Endpoint endpoint;
    private final Header header;
    private final byte [] document;

    Plain (final Endpoint endpoint, final Header header, final byte [] document)
    {
      this.endpoint = endpoint;
      this.header = header;
      this.document = document;
    }

    @Override
    public Endpoint getEndpoint ()
    {
      return endpoint;
    }

    @Override
    public Header getHeader ()
    {
      return header;
    }

    @Override
    public InputStream getPayload ()
    {
      return new ByteArrayInputStream (document);
    }
  }

  /** A message whose name we choose, with what an extension of Oxalis may add: a character set, the test service. */
  private static final class Named extends Plain implements As4TransmissionRequest
  {
    private final String messageId;
    private final boolean ping;

    Named (final Endpoint endpoint, final Header header, final byte [] document, final String messageId, final boolean ping)
    {
      super (endpoint, header, document);
      this.messageId = messageId;
      this.ping = ping;
    }

    @Override
    public String getMessageId ()
    {
      return messageId;
    }

    @Override
    public String getPayloadHref ()
    {
      return UUID.randomUUID () + "@oxalis.interop";
    }

    @Override
    public String getRefToMessageId ()
    {
      return null;
    }

    @Override
    public String getConversationId ()
    {
      return null;
    }

    @Override
    public As4MessageProperties getMessageProperties ()
    {
      return null;
    }

    @Override
    public Charset getPayloadCharset ()
    {
      return StandardCharsets.UTF_8;
    }

    @Override
    public String getCompressionType ()
    {
      return null;
    }

    @Override
    public boolean isPing ()
    {
      return ping;
    }
  }
}
