package kurier.interop;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;

import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;

import com.google.inject.Injector;
import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigValueFactory;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/** POST /control/send: one message through Oxalis; parameters in the query, the document in the body. See Sender. */
final class Control extends HttpServlet
{
  private static final long serialVersionUID = 1L;
  private final transient Injector injector;
  private final transient Bus bus;

  Control (final Injector injector, final Bus bus)
  {
    this.injector = injector;
    this.bus = bus;
  }

  @Override
  protected void doPost (final HttpServletRequest request, final HttpServletResponse response) throws IOException
  {
    BusFactory.setThreadDefaultBus (bus);
    try
    {
      final Map <String, Object> answer = new Sender (injector).send (request::getParameter, request.getInputStream ().readAllBytes ());
      reply (response, 200, ConfigValueFactory.fromMap (answer).render (ConfigRenderOptions.concise ()));
    }
    catch (final Exception ex)
    {
      final StringWriter trace = new StringWriter ();
      ex.printStackTrace (new PrintWriter (trace));
      reply (response, 500, trace.toString ());
    }
    finally
    {
      BusFactory.setThreadDefaultBus (null);
    }
  }

  private static void reply (final HttpServletResponse response, final int status, final String text) throws IOException
  {
    response.setStatus (status);
    response.setContentType ("application/json");
    response.getOutputStream ().write (text.getBytes (StandardCharsets.UTF_8));
  }
}
