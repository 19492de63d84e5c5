package kurier.interop;

import java.io.File;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.function.UnaryOperator;

import org.unece.cefact.namespaces.sbdh.StandardBusinessDocument;

import com.helger.base.state.ESuccess;
import com.helger.json.JsonArray;
import com.helger.json.JsonObject;
import com.helger.mime.CMimeType;
import com.helger.peppol.sbdh.EPeppolMLSType;
import com.helger.peppol.sbdh.PeppolSBDHData;
import com.helger.peppol.sbdh.PeppolSBDHDataReader;
import com.helger.peppol.sbdh.PeppolSBDHDataWriter;
import com.helger.peppolid.IParticipantIdentifier;
import com.helger.peppolid.factory.PeppolIdentifierFactory;
import com.helger.phase4.CAS4;
import com.helger.phase4.attachment.AS4OutgoingAttachment;
import com.helger.phase4.config.AS4Configuration;
import com.helger.phase4.crypto.ECryptoKeyIdentifierType;
import com.helger.phase4.ebms3header.Ebms3Error;
import com.helger.phase4.messaging.http.HttpRetrySettings;
import com.helger.phase4.peppol.Phase4PeppolSender;
import com.helger.phase4.sender.EAS4UserMessageSendResult;
import com.helger.phase4.sender.IAS4SignalMessageValidationResultHandler;
import com.helger.phase4.util.AS4ResourceHelper;
import com.helger.phase4.util.Phase4Exception;
import com.helger.sbdh.SBDMarshaller;
import com.helger.smpclient.peppol.SMPClientReadOnly;
import com.helger.xml.serialize.read.DOMReader;

/**
 * C2: one message through phase4's Peppol sender. Parameters: url and certificate (base64 of the recipient's DER), or smp, the
 * metadata publisher that names them; sender, receiver, messageId, doctype, process, mlsTo, mlsType; service=test for the connectivity test; and to break one rule
 * each: key=ski-sign|ski-encrypt, payload=plain|broken, sbdhSender, sbdhReceiver. resend names the file of a document that
 * was sent before, and is sent instead of the body.
 */
final class Sender
{
  private static final PeppolIdentifierFactory IDS = PeppolIdentifierFactory.INSTANCE;
  private static final String INVOICE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1";
  private static final String BILLING = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0";

  static com.helger.json.IJsonObject send (final Keys keys, final UnaryOperator <String> parameters, final byte [] payload) throws Exception
  {
    final String messageId = Optional.ofNullable (parameters.apply ("messageId")).orElse (UUID.randomUUID () + "@phase4.interop");
    final String instanceId = UUID.randomUUID ().toString ();
    final String again = parameters.apply ("resend");
    final byte [] document = again == null ? document (parameters, instanceId, payload) : Files.readAllBytes (Path.of (again));
    final File file = new File (AS4Configuration.getDataPath (), "sent-" + instanceId + ".xml");
    Files.write (file.toPath (), document);

    final JsonArray errors = new JsonArray ();
    final JsonArray receipt = new JsonArray ();
    final JsonArray exceptions = new JsonArray ();
    final Message message = new Message ("broken".equals (parameters.apply ("payload")), "test".equals (parameters.apply ("service")));
    final String sign = parameters.apply ("key");
    message.cryptoFactory (keys.crypto)
           .peppolAP_CAChecker (keys.authorities)
           .documentTypeID (IDS.createDocumentTypeIdentifierWithDefaultScheme (or (parameters, "doctype", INVOICE)))
           .processID (IDS.createProcessIdentifierWithDefaultScheme (or (parameters, "process", BILLING)))
           .senderParticipantID (participant (parameters.apply ("sender")))
           .receiverParticipantID (participant (parameters.apply ("receiver")))
           .senderPartyID (keys.seat)
           .countryC1 ("SK")
           .compressPayload (!"plain".equals (parameters.apply ("payload")) && !"broken".equals (parameters.apply ("payload")))
           .messageID (messageId)
           .payload (document)
           .signalMsgConsumer ( (signal, metadata, state) -> {
             for (final Ebms3Error error : signal.getError ())
               errors.add (new JsonObject ().add ("code", error.getErrorCode ()).add ("detail", error.getErrorDetail ()).add ("refTo", error.getRefToMessageInError ())
                                            .add ("signed", state.isSoapSignatureChecked ()));
           })
           .signalMsgValidationResultHdl (new Judgement (receipt));
    final String smp = parameters.apply ("smp");
    if (smp == null)
      message.receiverEndpointDetails (Keys.certificate (parameters.apply ("certificate")), parameters.apply ("url"));
    else
      message.smpClient (new SMPClientReadOnly (URI.create (smp)).setTrustStore (keys.trust));
    if ("ski-sign".equals (sign))
      message.withSigningParams (signing -> signing.setKeyIdentifierType (ECryptoKeyIdentifierType.SKI_KEY_IDENTIFIER));
    if ("ski-encrypt".equals (sign))
      message.withCryptParams (encryption -> encryption.setKeyIdentifierType (ECryptoKeyIdentifierType.SKI_KEY_IDENTIFIER));
    // One try: the matrix looks at each answer.
    message.httpRetrySettings (new HttpRetrySettings ().setMaxRetries (0));
    final EAS4UserMessageSendResult result = message.sendMessageAndCheckForReceipt (ex -> exceptions.add (ex + ": " + ex.getCause ()));
    return new JsonObject ().add ("result", result.name ()).add ("messageId", messageId).add ("instanceId", instanceId).add ("file", file.getAbsolutePath ())
                            .add ("errors", errors).add ("receipt", receipt).add ("exceptions", exceptions);
  }

  /** The standard business document, written by phase4 and peppol-commons. */
  private static byte [] document (final UnaryOperator <String> parameters, final String instanceId, final byte [] payload) throws Exception
  {
    final StandardBusinessDocument document = Phase4PeppolSender.createSBDH (participant (or (parameters, "sbdhSender", parameters.apply ("sender"))),
                                                                             participant (or (parameters, "sbdhReceiver", parameters.apply ("receiver"))),
                                                                             IDS.createDocumentTypeIdentifierWithDefaultScheme (or (parameters, "doctype", INVOICE)),
                                                                             IDS.createProcessIdentifierWithDefaultScheme (or (parameters, "process", BILLING)),
                                                                             "SK",
                                                                             instanceId,
                                                                             null,
                                                                             null,
                                                                             null,
                                                                             DOMReader.readXMLDOM (payload).getDocumentElement ());
    final String mlsTo = parameters.apply ("mlsTo");
    final String mlsType = parameters.apply ("mlsType");
    if (mlsTo == null && mlsType == null)
      return new SBDMarshaller ().getAsBytes (document);
    final PeppolSBDHData data = new PeppolSBDHDataReader (IDS).extractData (document);
    if (mlsTo != null)
      data.setMLSToScheme (participant (mlsTo).getScheme ()).setMLSToValue (mlsTo);
    data.setMLSType (EPeppolMLSType.getFromIDOrNull (mlsType));
    return new SBDMarshaller ().getAsBytes (new PeppolSBDHDataWriter ().createStandardBusinessDocument (data));
  }

  private static String or (final UnaryOperator <String> parameters, final String name, final String otherwise)
  {
    return Optional.ofNullable (parameters.apply (name)).orElse (otherwise);
  }

  private static IParticipantIdentifier participant (final String value)
  {
    return IDS.createParticipantIdentifierWithDefaultScheme (value);
  }

  /** A message whose payload may claim to be compressed without being it, or that is a test and no business. */
  private static final class Message extends Phase4PeppolSender.PeppolUserMessageSBDHBuilder
  {
    private final boolean broken;
    private final boolean test;

    Message (final boolean broken, final boolean test)
    {
      this.broken = broken;
      this.test = test;
    }

    @Override
    protected ESuccess finishFields (final AS4ResourceHelper resources) throws Phase4Exception
    {
      final ESuccess done = super.finishFields (resources);
      if (broken && done.isSuccess ())
        payload (AS4OutgoingAttachment.builder ().data ("this is no gzip".getBytes (java.nio.charset.StandardCharsets.US_ASCII)).mimeType (CMimeType.APPLICATION_GZIP)
                                      .addCustomProperty ("CompressionType", "application/gzip"));
      if (test)
        service (null, CAS4.DEFAULT_SERVICE_URL).action (CAS4.DEFAULT_ACTION_URL);
      return done;
    }
  }

  /** What phase4 says of our receipt, compared with what it signed. */
  private static final class Judgement implements IAS4SignalMessageValidationResultHandler
  {
    private final JsonArray said;

    Judgement (final JsonArray said)
    {
      this.said = said;
    }

    @Override
    public void onSuccess ()
    {
      said.add ("matches");
    }

    @Override
    public void onError (final String text)
    {
      said.add (text);
    }

    @Override
    public void onNotApplicable ()
    {
      said.add ("not applicable");
    }
  }

  private Sender ()
  {}
}
